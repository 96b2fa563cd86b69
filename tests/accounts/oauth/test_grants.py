"""Codes and tokens: what a client needs to get them, and what ends them."""

import datetime
import re
import uuid
from typing import Any

import jwt
import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework_simplejwt.tokens import AccessToken

from accounts.models import AuditEvent, OAuthClient, OAuthCode, TokenFamily, User
from accounts.oauth import grants
from accounts.sign_in import delete_old_sign_ins, refresh_tokens
from accounts.sign_out_everywhere import end_sign_ins
from orgs.models import IdentityProvider
from orgs.scim import users as scim_users
from ragsite.postgres import identity
from tests.accounts.oauth.conftest import RESOURCE, Program
from tests.support.factories import World


def test_the_token_opens_the_mcp_server_only(program: Program, world: World) -> None:
    tokens = program.sign_in()
    for token in (tokens["access_token"], tokens["refresh_token"]):
        headers = {"Authorization": f"Bearer {token}"}
        assert Client().get("/api/rag/sources", headers=headers).status_code == 401
        for path in ("refresh", "verify", "revoke"):
            body = {"refresh": token, "token": token}
            reply = Client().post(f"/api/auth/token/{path}", body, content_type="application/json")
            assert reply.status_code == 401, path
    assert program.ping(tokens["refresh_token"]).status_code == 401
    # A token of another address of this server, and one of the API.
    assert program.ping(tokens["access_token"], Host="localhost").status_code == 401
    refused = program.refresh(str(AccessToken.for_user(world.users["member"])))
    assert refused.json()["error"] == "invalid_grant"


def test_a_further_grant_ends_the_oldest_of_the_person(
    program: Program, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grants, "MAX_GRANTS", 2)
    sign_ins = [refresh_tokens.issue(world.users[name]) for name in ("member", "editor")]
    tokens = [program.sign_in()["access_token"] for _ in range(3)]
    assert [program.ping(token).status_code for token in tokens] == [401, 200, 200]
    assert TokenFamily.objects.filter(pk__in=[uuid.UUID(sign_in["jti"]) for sign_in in sign_ins]).count() == 2


def test_a_401_leads_to_the_sign_in(program: Program) -> None:
    challenge = program.ping("wrong").headers["WWW-Authenticate"]
    url = "http://testserver/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{url}"' in challenge
    resource = Client().get(url).json()
    assert (resource["resource"], resource["authorization_servers"]) == (RESOURCE, ["http://testserver"])
    server = Client().get("/.well-known/oauth-authorization-server").json()
    assert server["issuer"] == "http://testserver"
    assert server["code_challenge_methods_supported"] == ["S256"]


def test_only_the_public_address_is_named(program: Program, settings: Any) -> None:
    settings.RAG_PUBLIC_URL = "https://rag.example/"
    server = Client().get("/.well-known/oauth-authorization-server").json()
    assert (server["issuer"], server["token_endpoint"]) == ("https://rag.example", "https://rag.example/oauth/token")
    assert program.decide(resource=RESOURCE)["error"] == "invalid_target"


@pytest.mark.parametrize(
    "changes",
    [
        {"code_verifier": "w" * 43},
        {"redirect_uri": "https://agent.example/other"},
        {"client_id": "another client"},
    ],
)
def test_a_stolen_code_is_worth_nothing(program: Program, changes: dict[str, str]) -> None:
    code = program.decide()["code"]
    if "client_id" in changes:
        changes = {"client_id": program.register().json()["client_id"]}
    refused = program.exchange(code, **changes)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")
    assert not TokenFamily.objects.exists()


def test_parameters_are_required(program: Program) -> None:
    code = program.decide()["code"]
    for missing in ("code_verifier", "redirect_uri"):
        assert program.exchange(code, **{missing: None}).json()["error"] == "invalid_request"
    assert program.exchange(code, resource="https://other.example/mcp").json()["error"] == "invalid_target"
    assert program.send("/oauth/token", grant_type="password").json()["error"] == "unsupported_grant_type"
    unknown = program.exchange(code, client_id=str(uuid.uuid4()))
    assert (unknown.status_code, unknown.json()["error"]) == (401, "invalid_client")
    assert program.exchange(code).status_code == 200


def test_a_code_expires(program: Program) -> None:
    code = program.decide()["code"]
    OAuthCode.objects.update(expires_at=timezone.now())
    assert program.exchange(code).json()["error"] == "invalid_grant"


def test_the_second_use_of_a_code_ends_the_tokens_of_the_first(program: Program) -> None:
    code = program.decide()["code"]
    tokens = program.exchange(code).json()
    assert program.exchange(code).json()["error"] == "invalid_grant"
    assert program.ping(tokens["access_token"]).status_code == 401
    assert program.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert AuditEvent.objects.filter(action="token_reused").count() == 1


def test_refresh_tokens_rotate_and_a_replayed_one_ends_all(program: Program) -> None:
    first = program.sign_in()
    second = program.refresh(first["refresh_token"], resource=RESOURCE).json()
    assert program.ping(second["access_token"]).status_code == 200
    assert program.refresh(first["refresh_token"]).json()["error"] == "invalid_grant"
    assert program.refresh(second["refresh_token"]).json()["error"] == "invalid_grant"
    assert program.ping(second["access_token"]).status_code == 401


def test_another_client_cannot_use_or_end_the_tokens(program: Program) -> None:
    tokens = program.sign_in()
    other = program.register().json()["client_id"]
    assert program.refresh(tokens["refresh_token"], client_id=other).json()["error"] == "invalid_grant"
    assert program.send("/oauth/revoke", token=tokens["refresh_token"], client_id=other).status_code == 200
    assert program.ping(tokens["access_token"]).status_code == 200
    assert program.refresh(tokens["refresh_token"]).status_code == 200


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_a_program_ends_its_access(program: Program, kind: str) -> None:
    tokens = program.sign_in()
    for _ in range(2):  # twice is not an error
        assert program.send("/oauth/revoke", token=tokens[kind]).status_code == 200
    assert program.ping(tokens["access_token"]).status_code == 401
    assert program.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"


def deactivate(user: User, world: World) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def change_password(user: User, world: World) -> None:
    user.set_password("another password")
    user.save()


def deactivate_in_the_directory(user: User, world: World) -> None:
    world.home.sign_in_domains.create(domain="home.example", verified_at=timezone.now())
    scim_users.delete_user(world.home.memberships.get(user=user))


@pytest.mark.parametrize("end", [deactivate, change_password, deactivate_in_the_directory])
def test_a_person_who_loses_access_takes_it_from_their_programs(program: Program, world: World, end: Any) -> None:
    tokens, code = program.sign_in(), program.decide()["code"]
    end(world.users["member"], world)
    assert program.ping(tokens["access_token"]).status_code == 401
    assert program.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert program.exchange(code).json()["error"] == "invalid_grant"


@pytest.mark.parametrize("by_password", [True, False])
def test_required_single_sign_on_ends_what_a_password_began(program: Program, world: World, by_password: bool) -> None:
    if not by_password:
        program.browser.force_login(world.users["member"], "orgs.single_sign_on.enforcement.SingleSignOnBackend")
    tokens, code = program.refresh(program.sign_in()["refresh_token"]).json(), program.decide()["code"]
    world.home.sign_in_domains.create(domain="home.example", verified_at=timezone.now())
    IdentityProvider.objects.create(
        organization=world.home, name="Okta", issuer="https://idp.example", is_enforced=True
    )
    status = 400 if by_password else 200
    assert program.refresh(tokens["refresh_token"]).status_code == status
    assert program.exchange(code).status_code == status


def test_nothing_that_is_stored_can_be_used(program: Program) -> None:
    code = program.decide()["code"]
    tokens = program.exchange(code).json()
    with connection.cursor() as cursor:
        cursor.execute("SELECT c::text FROM accounts_oauthcode c UNION ALL SELECT f::text FROM accounts_tokenfamily f")
        stored = [row for (row,) in cursor.fetchall()]
    assert len(stored) == 2
    for secret in (code, tokens["access_token"], tokens["refresh_token"]):
        assert not any(secret in row for row in stored)


def test_a_token_that_others_have_signed_is_refused(program: Program) -> None:
    tokens = program.sign_in()
    claims = jwt.decode(tokens["access_token"], options={"verify_signature": False})
    header = jwt.get_unverified_header(tokens["access_token"])
    forged = jwt.encode(claims, "x" * 32, algorithm="HS256", headers={"kid": header["kid"]})
    unsigned = jwt.encode(claims, "", algorithm="none", headers={"kid": header["kid"]})
    expired = {**claims, "exp": 1}
    key = settings.SIMPLE_JWT["SIGNING_KEY"]
    old = jwt.encode(expired, key, algorithm="HS256", headers={"kid": header["kid"]})
    assert [program.ping(token).status_code for token in (forged, unsigned, old)] == [401, 401, 401]


def test_what_nobody_uses_is_deleted(program: Program) -> None:
    program.sign_in()
    unused = program.register().json()["client_id"]
    old = timezone.now() - datetime.timedelta(days=40)
    delete_old_sign_ins.delete_expired_sign_ins()
    assert (OAuthClient.objects.count(), OAuthCode.objects.count()) == (2, 1)
    OAuthClient.objects.filter(pk=unused).update(created_at=old)
    OAuthClient.objects.exclude(pk=unused).update(last_used_at=old)
    OAuthCode.objects.update(expires_at=old)
    delete_old_sign_ins.delete_expired_sign_ins()
    assert str(OAuthClient.objects.get().pk) == program.client_id, "its tokens are valid"
    assert not OAuthCode.objects.exists()
    TokenFamily.objects.update(expires_at=old)
    delete_old_sign_ins.delete_expired_sign_ins()
    assert not OAuthClient.objects.exists()


def test_an_exchange_locks_in_the_order_of_a_sign_out(program: Program, world: World) -> None:
    """Otherwise each could wait for what the other one has locked."""
    code = program.decide()["code"]
    with CaptureQueriesContext(connection) as exchange:
        assert program.exchange(code).status_code == 200
    with CaptureQueriesContext(connection) as sign_out, identity.run_as(identity.SIGN_IN):
        end_sign_ins(world.users["owner"], requested_at=timezone.now(), method="test")
    assert locked_tables(exchange) == ["accounts_user", "accounts_oauthcode"]
    assert locked_tables(sign_out)[0] == "accounts_user"


def locked_tables(queries: CaptureQueriesContext) -> list[str]:
    """The tables whose rows were locked, in this order."""
    locking = [query["sql"] for query in queries if re.search(r" FOR (NO KEY )?UPDATE", query["sql"])]
    return [re.findall(r'FROM "(\w+)"', sql)[0] for sql in locking]
