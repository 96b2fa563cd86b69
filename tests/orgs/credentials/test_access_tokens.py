"""Access and refresh tokens (docs/contracts/authentication.md), and requests without one."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import jwt
import pytest
from django.conf import settings as django_settings
from django.test import RequestFactory
from rest_framework.exceptions import PermissionDenied
from rest_framework_simplejwt.settings import api_settings
from rest_framework_simplejwt.tokens import AccessToken, RefreshToken

from ragsite.http.require_https import require_https
from tests.support.checks import snapshots
from tests.support.factories import PASSWORD, World
from tests.support.http import Client, without_request_id

Api = Callable[..., Client]


def token_pair(api: Api, world: World, name: str = "member") -> dict[str, str]:
    reply = api().post("/api/auth/token", {"email": world.users[name].email, "password": PASSWORD})
    assert reply.status == 200
    return dict(reply.body)


def test_token_pair_and_rotation(api: Api, live_world: World) -> None:
    first = token_pair(api, live_world)
    assert set(first) == {"access", "refresh"}
    snapshots.assert_matches("token", first)
    second = api().post("/api/auth/token/refresh", {"refresh": first["refresh"]})
    assert second.status == 200
    assert set(second.body) == {"access", "refresh"}
    replayed = api().post("/api/auth/token/refresh", {"refresh": first["refresh"]})
    assert (replayed.status, replayed.body["error"]) == (401, "Unauthorized")
    assert api().post("/api/auth/token/revoke", {"refresh": second.body["refresh"]}).status == 200
    assert api().post("/api/auth/token/refresh", {"refresh": second.body["refresh"]}).status == 401


@pytest.mark.parametrize(("seconds", "status"), [(5, 200), (60, 401)])
def test_the_clock_of_the_server_that_issued_a_token_may_be_a_little_fast(
    api: Api, live_world: World, seconds: int, status: int
) -> None:
    token = AccessToken(token_pair(api, live_world)["access"])  # type: ignore[arg-type]
    token["iat"] += seconds
    headers = {"Authorization": f"Bearer {token}", "X_Organization": live_world.home.slug}
    assert api().with_headers(**headers).get("/api/rag/sources").status == status


def test_a_refresh_token_works_once_even_when_sent_twice_at_once(api: Api, live_world: World) -> None:
    refresh = {"refresh": token_pair(api, live_world)["refresh"]}
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: api().post("/api/auth/token/refresh", refresh).status, range(8)))
    assert sorted(replies) == [200] + [401] * 7


def test_the_case_of_the_email_address_is_ignored(api: Api, live_world: World) -> None:
    assert api().post("/api/auth/token", {"email": "MEMBER@Home.example", "password": PASSWORD}).status == 200


def test_a_wrong_password_and_an_unknown_address_get_the_same_answer(api: Api, live_world: World) -> None:
    wrong = api().post("/api/auth/token", {"email": live_world.users["member"].email, "password": "x"})
    unknown = api().post("/api/auth/token", {"email": "nobody@home.example", "password": "x"})
    assert wrong.status == unknown.status
    assert without_request_id(wrong.body) == without_request_id(unknown.body)
    assert wrong.status == 401


@pytest.mark.parametrize("path", ["/api/rag/search", "/api/rag/ingest", "/api/rag/retrieve"])
def test_no_credentials(api: Api, path: str) -> None:
    reply = api().post(path, {"query": "x"})
    assert reply.status == 401
    assert reply.headers["www-authenticate"].startswith("Bearer")
    assert "/api/auth/token" in reply.body["message"]


@pytest.mark.parametrize("scheme", ["bearer", "BEARER"])
def test_the_scheme_is_written_in_any_case(api: Api, live_world: World, scheme: str) -> None:
    """RFC 9110, section 11.1. API keys accept it, too."""
    token = AccessToken.for_user(live_world.users["member"])
    client = api().with_headers(Authorization=f"{scheme} {token}", X_API_Key="wrong")
    assert client.get("/api/rag/sources").status == 200


def test_invalid_tokens_are_rejected(api: Api, live_world: World) -> None:
    user = live_world.users["member"]
    good = AccessToken.for_user(user)
    expired = AccessToken.for_user(user)
    expired.set_exp(lifetime=-AccessToken.lifetime)
    claims = {**good.payload, "aud": "another-service"}
    other_audience = jwt.encode(claims, api_settings.SIGNING_KEY, algorithm=api_settings.ALGORITHM)
    unsigned = ".".join(["eyJhbGciOiJub25lIn0", str(good).split(".")[1], ""])
    invalid_tokens = [
        str(expired),
        other_audience,
        str(RefreshToken.for_user(user)),
        unsigned,
        str(good)[:-3] + "abc",
        "x",
        "a.b.c",
    ]
    for token in invalid_tokens:
        reply = api().with_headers(Authorization=f"Bearer {token}").post("/api/rag/search", {"query": "x"})
        assert reply.status == 401, token
    assert api().with_headers(Authorization=f"Bearer {good}").post("/api/rag/search", {"query": "x"}).status == 200


def test_deactivation_and_a_new_password_end_tokens_immediately(api: Api, live_world: World) -> None:
    member, editor = api("member"), api("editor")
    live_world.users["member"].is_active = False
    live_world.users["member"].save()
    live_world.users["editor"].set_password("another good one")
    live_world.users["editor"].save()
    assert member.get("/api/rag/sources").status == 401
    assert editor.get("/api/rag/sources").status == 401


def test_a_credential_in_clear_text_is_refused_outside_loopback() -> None:
    """Shared rules: "a credential that arrives over plain HTTP is refused (403 …) unless … from loopback"."""
    assert not django_settings.DEBUG
    requests = RequestFactory()
    require_https(requests.get("/", REMOTE_ADDR="127.0.0.1"))
    require_https(requests.get("/", REMOTE_ADDR="10.0.0.9", secure=True))
    for address in ("10.0.0.9", "203.0.113.5", "::ffff:10.0.0.9"):
        with pytest.raises(PermissionDenied):
            require_https(requests.get("/", REMOTE_ADDR=address))


def test_verify_reports_whether_a_token_is_valid(api: Api, live_world: World) -> None:
    tokens = token_pair(api, live_world)

    def verify(token: str) -> int:
        return api().post("/api/auth/token/verify", {"token": token}).status

    assert (verify(tokens["access"]), verify(tokens["refresh"]), verify("x")) == (200, 200, 401)
    api().post("/api/auth/token/revoke", {"refresh": tokens["refresh"]})
    assert verify(tokens["refresh"]) == 401
    live_world.users["member"].set_password("another good one")
    live_world.users["member"].save()
    assert verify(tokens["access"]) == 401


def test_a_new_password_ends_refresh_tokens(api: Api, live_world: World) -> None:
    tokens = token_pair(api, live_world)
    live_world.users["member"].set_password("another good one")
    live_world.users["member"].save()
    assert api().post("/api/auth/token/refresh", {"refresh": tokens["refresh"]}).status == 401


def test_a_large_body_of_credentials_is_rejected(api: Api) -> None:
    reply = api().post("/api/auth/token", {"email": "x", "password": "y", "junk": "z" * 70_000})
    assert reply.status == 413
