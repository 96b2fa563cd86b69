"""Refresh tokens: what is stored, and how the use of an earlier one ends its family (docs/security.md)."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from django.db import connection, connections, transaction
from django.test import Client
from django.utils import timezone

from accounts import migrations
from accounts.audit.events import AuditEvent
from accounts.models import TokenFamily, User
from accounts.sign_in import delete_old_sign_ins, second_factor
from accounts.sign_out_everywhere import end_sign_ins
from ragsite.postgres import identity
from tests.support.factories import PASSWORD, World

ADDRESS = "192.0.2.7"
_MIGRATION = Path(migrations.__file__).with_name("sql") / "token_families.sql"


def post(path: str, body: dict[str, str]) -> Any:
    client = Client(REMOTE_ADDR=ADDRESS)
    return client.post(f"/api/auth/token{path}", body, content_type="application/json", secure=True)


def sign_in(user: User) -> str:
    return str(post("", {"email": user.email, "password": PASSWORD}).json()["refresh"])


def rotate(refresh: str) -> str:
    reply = post("/refresh", {"refresh": refresh})
    assert reply.status_code == 200, reply.content
    return str(reply.json()["refresh"])


def is_valid(refresh: str) -> bool:
    return bool(post("/verify", {"token": refresh}).status_code == 200)


def reuse_events() -> list[AuditEvent]:
    return list(AuditEvent.objects.filter(action="token_reused"))


def all_text() -> str:
    """Every row of every table, as text."""
    with identity.run_as(identity.OWNER), connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        tables = [row[0] for row in cursor.fetchall()]
        rows = []
        for table in tables:
            cursor.execute(f'SELECT t::text FROM "{table}" t')
            rows += [row[0] for row in cursor.fetchall()]
    return "\n".join(rows)


def test_no_token_is_stored(world: World) -> None:
    tokens = [sign_in(world.users["member"])]
    tokens.append(rotate(tokens[0]))
    stored = all_text()
    assert world.users["member"].email in stored
    for token in tokens:
        assert not any(part in stored for part in token.split(".")), "neither the token nor a part of it"


def test_the_use_of_an_earlier_token_ends_all_tokens_of_the_sign_in(world: World) -> None:
    member = world.users["member"]
    first, other_sign_in = sign_in(member), sign_in(member)
    second = rotate(first)
    third = rotate(second)
    assert not reuse_events()
    assert post("/refresh", {"refresh": first}).status_code == 401
    assert [is_valid(token) for token in (first, second, third)] == [False] * 3
    assert post("/refresh", {"refresh": third}).status_code == 401
    assert post("/refresh", {"refresh": second}).status_code == 401
    [event] = reuse_events()
    assert (event.kind, event.object_id, event.subject_id) == ("user", str(member.pk), member.pk)
    assert (event.address, event.subject_email, event.actor_id) == (ADDRESS, member.email, None)
    assert is_valid(rotate(other_sign_in)), "other sign-ins continue"


def test_signing_out_with_an_earlier_token_is_reuse_and_ends_the_family(world: World) -> None:
    first = sign_in(world.users["member"])
    second = rotate(first)
    assert post("/revoke", {"refresh": first}).status_code == 200
    assert not is_valid(second)
    assert len(reuse_events()) == 1


def test_signing_out_ends_the_family_and_is_not_reuse(world: World) -> None:
    first = sign_in(world.users["member"])
    second = rotate(first)
    assert post("/revoke", {"refresh": second}).status_code == 200
    for token in (first, second):
        assert not is_valid(token)
        assert post("/refresh", {"refresh": token}).status_code == 401
        assert post("/revoke", {"refresh": token}).status_code == 200, "as RFC 7009 says"
    assert not reuse_events()
    assert AuditEvent.objects.filter(action="signed_out").count() == 1


def test_checking_an_earlier_token_changes_nothing(world: World) -> None:
    first = sign_in(world.users["member"])
    second = rotate(first)
    assert not is_valid(first)
    assert is_valid(second)
    assert not reuse_events()


def test_access_tokens_do_not_name_the_family(world: World) -> None:
    pair = post("/refresh", {"refresh": rotate(sign_in(world.users["member"]))}).json()
    claims = {name: jwt.decode(token, options={"verify_signature": False}) for name, token in pair.items()}
    assert "family" in claims["refresh"]
    assert "family" not in claims["access"]


def test_the_tokens_of_inactive_and_deleted_accounts_end(world: World) -> None:
    member, editor = world.users["member"], world.users["editor"]
    tokens = [sign_in(member), sign_in(editor)]
    member.is_active = False
    member.save()
    User.objects.filter(pk=editor.pk).delete()
    assert [post("/refresh", {"refresh": token}).status_code for token in tokens] == [401, 401]
    assert not TokenFamily.objects.filter(user=editor.pk).exists()


def test_a_sign_in_that_the_end_of_all_overtakes_gives_no_token(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token of this sign-in would work as soon as the deactivated account is activated again."""
    user, must_enrol = world.users["editor"], second_factor.must_enrol

    def ask_slowly(account: User) -> bool:
        end_sign_ins(user, requested_at=timezone.now(), method="directory")
        return must_enrol(account)

    monkeypatch.setattr(second_factor, "must_enrol", ask_slowly)
    reply = Client().post("/api/auth/token", {"email": user.email, "password": PASSWORD}, "application/json")
    assert (reply.status_code, TokenFamily.objects.exists()) == (401, False)


def test_expired_families_are_deleted_at_night(world: World) -> None:
    old, recent = sign_in(world.users["member"]), rotate(sign_in(world.users["editor"]))
    expired = TokenFamily.objects.filter(user=world.users["member"])
    expired.update(expires_at=timezone.now() - timedelta(seconds=1))
    delete_old_sign_ins.delete_expired_sign_ins()
    assert not expired.exists()
    assert [is_valid(token) for token in (old, recent)] == [False, True]


def test_a_token_sent_twice_at_once_works_once_and_is_one_reuse(live_world: World) -> None:
    """All requests read the account before one of them rotates the token."""
    first = sign_in(live_world.users["member"])
    barrier = threading.Barrier(4)

    def send(_: int) -> int:
        barrier.wait()
        try:
            return int(post("/refresh", {"refresh": first}).status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert sorted(pool.map(send, range(4))) == [200, 401, 401, 401]
    assert not TokenFamily.objects.exists()
    assert len(reuse_events()) == 1


# The tables of simplejwt, as version 5.5 creates them.
_EARLIER_TABLES = """
CREATE TABLE token_blacklist_outstandingtoken (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, token text NOT NULL, created_at timestamptz,
    expires_at timestamptz NOT NULL, user_id uuid REFERENCES accounts_user DEFERRABLE INITIALLY DEFERRED,
    jti varchar(255) NOT NULL UNIQUE
);
CREATE TABLE token_blacklist_blacklistedtoken (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, blacklisted_at timestamptz NOT NULL,
    token_id bigint NOT NULL UNIQUE REFERENCES token_blacklist_outstandingtoken DEFERRABLE INITIALLY DEFERRED
);
"""
_INSERT_TOKEN = (
    "INSERT INTO token_blacklist_outstandingtoken (token, created_at, expires_at, user_id, jti) "
    "VALUES (%s, now(), now() + %s::interval, %s, %s) RETURNING id"
)


def test_the_migration_keeps_valid_sign_ins_and_no_token(world: World) -> None:
    member = world.users["member"]
    valid, used, expired = (sign_in(member) for _ in range(3))
    TokenFamily.objects.all().delete()
    with identity.run_as(identity.OWNER), transaction.atomic(), connection.cursor() as cursor:
        for statement in _EARLIER_TABLES.split(";")[:-1]:
            cursor.execute(statement)
        for token, lifetime in ((valid, "1 day"), (used, "1 day"), (expired, "-1 day")):
            jti = jwt.decode(token, options={"verify_signature": False})["jti"]
            cursor.execute(_INSERT_TOKEN, [token, lifetime, member.pk, jti])
            if token is used:
                cursor.execute(
                    "INSERT INTO token_blacklist_blacklistedtoken (blacklisted_at, token_id) VALUES (now(), %s)",
                    cursor.fetchone(),
                )
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute(_MIGRATION.read_text())
    assert valid not in all_text()
    assert [is_valid(token) for token in (valid, used, expired)] == [True, False, False]
    newer = rotate(valid)
    assert post("/refresh", {"refresh": valid}).status_code == 401
    assert not is_valid(newer), "a token from before the update is part of its family"
    assert len(reuse_events()) == 1
