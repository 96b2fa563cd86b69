"""A program that asks a person of the world for access to the MCP server, step by step."""

import base64
import hashlib
import html
import json
import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from django.test import Client

from tests.support.factories import World

REDIRECT_URI = "https://agent.example/callback"
VERIFIER = "v" * 43
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")
RESOURCE = "http://testserver/mcp"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@dataclass
class Program:
    """A client of OAuth, with the browser of the person who is asked."""

    browser: Client
    redirect_uri: str = REDIRECT_URI
    client_id: str = ""
    sender: Client = field(default_factory=Client)

    def register(self, **metadata: Any) -> Any:
        body = {"client_name": "Agent", "redirect_uris": [self.redirect_uri], **metadata}
        return self.sender.post("/oauth/register", json.dumps(body), content_type="application/json")

    def authorize_url(self, **changes: str | None) -> str:
        parameters = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "code_challenge": CHALLENGE,
            "code_challenge_method": "S256",
            "state": "a state",
            "resource": RESOURCE,
            **changes,
        }
        return "/oauth/authorize?" + urlencode({name: value for name, value in parameters.items() if value is not None})

    def decide(self, decision: str = "allow", **changes: str | None) -> dict[str, str]:
        """Decide on the consent page, and return the parameters with which the person is sent back."""
        return sent_back(self.browser.post(self.authorize_url(**changes), {"decision": decision}))

    def send(self, path: str, **form: str | None) -> Any:
        fields = {"client_id": self.client_id, **form}
        return self.sender.post(path, {name: value for name, value in fields.items() if value is not None})

    def exchange(self, code: str, **changes: str | None) -> Any:
        form = {"redirect_uri": self.redirect_uri, "code_verifier": VERIFIER, "resource": RESOURCE, **changes}
        return self.send("/oauth/token", grant_type="authorization_code", code=code, **form)

    def refresh(self, token: str, **changes: str | None) -> Any:
        return self.send("/oauth/token", grant_type="refresh_token", refresh_token=token, **changes)

    def sign_in(self) -> dict[str, Any]:
        """Run the whole flow and return the tokens."""
        reply = self.exchange(self.decide()["code"])
        assert reply.status_code == 200, reply.content
        tokens: dict[str, Any] = reply.json()
        return tokens

    def ping(self, token: str, **headers: str) -> Any:
        return self.call(token, PING, **headers)

    def ask(self, token: str, question: str) -> Any:
        tool = {"name": "ask", "arguments": {"question": question}}
        return self.call(token, {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool})

    def call(self, token: str, message: dict[str, Any], **headers: str) -> Any:
        headers = {"Authorization": f"Bearer {token}", **headers}
        return self.sender.post("/mcp", json.dumps(message), content_type="application/json", headers=headers)


def sent_back(reply: Any) -> dict[str, str]:
    """The parameters of the address to which a page leads."""
    (url,) = re.findall(r'<a href="([^"]+)" rel="noreferrer">', reply.content.decode())
    return dict(parse_qsl(urlsplit(html.unescape(url)).query))


@pytest.fixture
def program(world: World) -> Program:
    """A registered program, whose person is `member`."""
    browser = Client()
    browser.force_login(world.users["member"])
    program = Program(browser)
    program.client_id = program.register().json()["client_id"]
    return program
