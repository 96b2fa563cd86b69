"""CORS headers of the contracts' paths (retrieval contract, "CORS")."""

import urllib.request

import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer
from rest_framework_simplejwt.tokens import AccessToken

from tests.support.factories import World
from tests.support.http import Client, Reply


@pytest.fixture
def client(live_server: LiveServer, live_world: World) -> Client:
    token = AccessToken.for_user(live_world.users["editor"])
    return Client(live_server.url, {"Authorization": f"Bearer {token}"})


def preflight(client: Client, path: str, origin: str = "https://app.example") -> Reply:
    headers = {"Origin": origin, "Access_Control_Request_Method": "POST"}
    return Client(client.address).with_headers(**headers).send("OPTIONS", path)


@pytest.mark.parametrize("path", ["/functions/v1/rag-search", "/api/rag/search", "/agent/respond", "/api/v1/search"])
def test_all_origins_may_call_the_contracts(client: Client, path: str) -> None:
    """Retrieval, "CORS": all origins, `authorization, x-client-info, apikey, content-type`."""
    response = preflight(client, path)
    assert (response.status, response.headers["access-control-allow-origin"]) == (200, "*")
    allowed = set(response.headers["access-control-allow-headers"].split(", "))
    assert {"authorization", "x-client-info", "apikey", "content-type", "x-api-key"} <= allowed
    assert "POST" in response.headers["access-control-allow-methods"]
    assert "access-control-allow-credentials" not in response.headers
    page = client.with_headers(Origin="https://app.example")
    for reply in (page.post(path, {}), Client(client.address, {"Origin": "https://app.example"}).post(path, {})):
        assert reply.headers["access-control-allow-origin"] == "*"
        exposed = reply.headers["access-control-expose-headers"]
        assert {"x-ratelimit-remaining", "ratelimit-reset", "retry-after", "x-request-id"} <= set(exposed.split(", "))


def test_origins_can_be_restricted(client: Client, settings: Settings) -> None:
    settings.CORS_ALLOW_ALL_ORIGINS, settings.CORS_ALLOWED_ORIGINS = False, ["https://app.example"]
    named, other = (preflight(client, "/api/rag/search", origin) for origin in ("https://app.example", "https://evil"))
    assert named.headers["access-control-allow-origin"] == "https://app.example"
    assert "access-control-allow-origin" not in other.headers


def test_the_admin_and_health_have_no_cors_headers(client: Client) -> None:
    for path in ("/admin/login/", "/healthz", "/agentless"):
        request = urllib.request.Request(client.address + path, headers={"Origin": "https://app.example"})
        try:
            with urllib.request.urlopen(request) as response:
                headers = response.headers
        except urllib.error.HTTPError as error:
            with error:
                headers = error.headers
        assert not [name for name in headers if name.lower().startswith("access-control")], path
