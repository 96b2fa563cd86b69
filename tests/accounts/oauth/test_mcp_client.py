"""The official SDK's client: discovery, registration, sign-in, consent, tools, refresh; the documented program."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from django.test import Client
from pytest_django.live_server_helper import LiveServer

from accounts.models import OAuthClient, TokenFamily
from orgs.access.permissions import Visibility
from tests.accounts.oauth.consent import decide_over_http
from tests.support.factories import World, ingest_text
from tests.support.speed.deferred import mcp, mcp_auth, mcp_http, mcp_metadata

PAGE = Path(__file__).parents[3] / "docs" / "user" / "mcp.md"
ROOT = Path(__file__).parents[3]
# What the documented program's browser does: it allows the access.
BROWSER = """
import sys
import httpx2
from tests.accounts.oauth.consent import decide_over_http

httpx2.get(decide_over_http(sys.argv[2], sys.argv[1]), timeout=60)
"""


class Storage:
    """What a client keeps."""

    tokens: Any = None
    client: Any = None

    async def get_tokens(self) -> Any:
        return self.tokens

    async def set_tokens(self, tokens: Any) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> Any:
        return self.client

    async def set_client_info(self, client_info: Any) -> None:
        self.client = client_info


@pytest.fixture
def session_key(live_world: World) -> str:
    """The session of `member` in a browser, who may query one of two sources."""
    ingest_text(live_world.source("library"), "/bikes", "Bicycles are parked in the yard.", title="Bicycles")
    closed = live_world.source("closed", visibility=Visibility.PRIVATE)
    ingest_text(closed, "/x", "Bicycles in the cellar.", title="Hidden")
    browser = Client()
    browser.force_login(live_world.users["member"])
    return browser.session.session_key or ""


def sign_in(server: str, session_key: str, storage: Storage) -> mcp_auth.OAuthClientProvider:
    metadata = mcp_metadata.OAuthClientMetadata(client_name="SDK", redirect_uris=["http://127.0.0.1:9/callback"])  # type: ignore[list-item]
    answers: list[dict[str, str]] = []

    async def open_browser(url: str) -> None:
        address = await asyncio.to_thread(decide_over_http, url, session_key)
        answers.append(dict(parse_qsl(urlsplit(address).query)))

    async def wait_for_browser() -> mcp_auth.AuthorizationCodeResult:
        return mcp_auth.AuthorizationCodeResult(**answers[-1])

    return mcp_auth.OAuthClientProvider(server, metadata, storage, open_browser, wait_for_browser)


def test_the_sdk_signs_in_calls_tools_and_refreshes(live_server: LiveServer, session_key: str) -> None:
    server, storage = f"{live_server.url}/mcp", Storage()
    auth = sign_in(server, session_key, storage)

    async def search() -> list[str]:
        async with (
            httpx2.AsyncClient(auth=auth, timeout=60) as http,
            mcp.Client(mcp_http.streamable_http_client(server, http_client=http)) as client,
        ):
            reply: Any = await client.call_tool("search", {"query": "Where are the bicycles parked?"})
            return [passage["text"] for passage in reply.structured_content["passages"]]

    assert asyncio.run(search()) == ["Bicycles are parked in the yard."]
    first = storage.tokens
    assert OAuthClient.objects.get().name == "SDK"
    auth.context.token_expiry_time = 1  # as after 30 minutes
    assert asyncio.run(search()) == ["Bicycles are parked in the yard."]
    assert storage.tokens.refresh_token != first.refresh_token
    assert (OAuthClient.objects.count(), TokenFamily.objects.count()) == (1, 1), "it neither registered nor asked again"


def test_the_documented_program_runs(live_server: LiveServer, session_key: str, tmp_path: Path) -> None:
    _, program = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    file, browser = tmp_path / "program.py", tmp_path / "browser.py"
    file.write_text(program.replace("http://127.0.0.1:3080", live_server.url))
    browser.write_text(BROWSER)
    environment = {
        **os.environ,
        "BROWSER": f"{sys.executable} {browser} {session_key} %s &",  # in the background
        "PYTHONPATH": str(ROOT),
    }
    process = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=60, env=environment, check=False
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.splitlines() == ["Bicycles are parked in the yard."]
