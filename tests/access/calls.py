"""Calls the contracts and the integrations as one caller, whatever their credential: views, without a server."""

import json
from dataclasses import dataclass
from typing import Any

import httpx2
from django.urls import resolve
from ragsite_client import Client
from rest_framework.test import APIRequestFactory, force_authenticate

from orgs.access.caller import Caller
from rag.providers.limits import read_limiter


@dataclass(frozen=True)
class Calls:
    """Sends requests to the views that the paths lead to."""

    caller: Caller

    def post(self, path: str, **body: object) -> tuple[int, Any]:
        status, _, content = self._send("POST", path, json.dumps(body), "application/json")
        return status, json.loads(content)

    def get(self, path: str) -> tuple[int, Any]:
        status, _, content = self._send("GET", path, "", "application/json")
        return status, json.loads(content)

    def answer(self, path: str, **body: object) -> Any:
        """What a POST returns; None if it is refused."""
        status, reply = self.post(path, **body)
        return reply if status == 200 else None

    def tool(self, name: str, **arguments: object) -> Any:
        """What a tool of MCP returns; None if it, or the whole request, is refused."""
        result = self.rpc("tools/call", name=name, arguments=arguments)
        return None if result is None or result["isError"] else result["structuredContent"]

    def rpc(self, method: str, **params: object) -> Any:
        reply = self.answer("/mcp", jsonrpc="2.0", id=1, method=method, params=params)
        return reply and reply.get("result")

    def client(self) -> Client:
        """The Python client, whose requests go to the views."""
        return Client("http://testserver", "any key", max_retries=0, transport=httpx2.MockTransport(self._forward))

    def _forward(self, request: httpx2.Request) -> httpx2.Response:
        content_type = request.headers.get("Content-Type", "application/json")
        path = request.url.raw_path.decode()
        status, headers, content = self._send(request.method, path, request.content.decode(), content_type)
        return httpx2.Response(status, headers=headers, content=content)

    def _send(self, method: str, path: str, body: str, content_type: str) -> tuple[int, dict[str, str], bytes]:
        match = resolve(path.partition("?")[0])
        request = APIRequestFactory().generic(method, path, body, content_type)
        force_authenticate(request, self.caller.user, self.caller)  # type: ignore[arg-type]  # any credential
        try:
            response = match.func(request, *match.args, **match.kwargs)
            response.render()
        finally:
            read_limiter.end(request.META)  # as the middleware does
        return response.status_code, dict(response.items()), response.content
