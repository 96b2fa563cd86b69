"""What the audit trail keeps, from where, for whom; and that it is only ever added to."""

import csv
import datetime
import io
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.test import Client
from django.utils import timezone

import accounts.migrations
from accounts.audit import events
from accounts.audit.events import AuditEvent
from accounts.models import User
from orgs.access.permissions import Visibility
from orgs.api_keys import service
from orgs.models import ApiKey, Membership, Organization, Role, Team
from rag.models import DataSource, Grant, Reembedding
from rag.services.sources import documents
from ragsite.postgres import identity
from tests.admin.test_admin import browser, form
from tests.support import factories
from tests.support.factories import World, ingest_text

PAGE = "/admin/accounts/auditevent/"


@pytest.fixture
def since(world: World) -> Any:
    """since() are the events after the world was made, the oldest first: (kind, action, before, after)."""
    assert not AuditEvent.objects.exists()

    def told() -> list[tuple[Any, ...]]:
        rows = AuditEvent.objects.order_by("pk")
        return [*rows.values_list("kind", "action", "before", "after")]

    return told


def exported(client: Client, query: str = "") -> str:
    reply: Any = client.get(f"{PAGE}export.csv?{query}", secure=True)
    assert reply.status_code == 200
    return b"".join(reply).decode()


def newest() -> AuditEvent:
    return AuditEvent.objects.latest("id")


@pytest.mark.parametrize(
    "how",
    [
        "UPDATE accounts_auditevent SET action = 'x'",
        "UPDATE accounts_auditevent SET actor_email = 'deleted user 00000000'",
        "UPDATE accounts_auditevent SET subject_email = ''",
        "UPDATE accounts_auditevent SET address = NULL",
        "DELETE FROM accounts_auditevent",
    ],
)
def test_events_are_neither_changed_nor_removed(world: World, how: str) -> None:
    """Not by the owner of the table either."""
    events.record(
        events.AuditAction.CHANGED, events.AuditObject.USER, subject=world.users["member"], actor=world.users["owner"]
    )
    AuditEvent.objects.create(action="changed", kind="user", address="192.0.2.1")
    before = list(AuditEvent.objects.values_list())
    owner = identity.run_as(identity.OWNER)
    with owner, pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(how)
    assert list(AuditEvent.objects.values_list()) == before


def test_the_trail_is_not_emptied_as_a_whole(world: World) -> None:
    with identity.run_as(identity.OWNER), transaction.atomic(), connection.cursor() as cursor:
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            cursor.execute("TRUNCATE accounts_auditevent")
        transaction.set_rollback(True)


def test_the_roles_of_the_application_have_no_right_to_more_than_adding(world: World) -> None:
    """But for taking the name of a deleted account off, which the trigger judges."""
    rights = (Path(accounts.migrations.__file__).parent / "sql" / "audit_grants.sql").read_text()
    with transaction.atomic(), connection.cursor() as cursor:
        for role in ("ragsite_reader", "ragsite_worker"):
            cursor.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role])
            if not cursor.fetchone():
                cursor.execute(f"CREATE ROLE {role}")
            cursor.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
        cursor.execute(rights)
        held = "SELECT has_table_privilege(%s, 'accounts_auditevent', %s)"
        for role in ("ragsite_reader", "ragsite_worker"):
            for right in ("UPDATE", "DELETE", "TRUNCATE"):
                cursor.execute(held, [role, right])
                assert cursor.fetchone() == (False,), (role, right)
            cursor.execute(held, [role, "INSERT"])
            assert cursor.fetchone() == (True,)
        cursor.execute("SET LOCAL ROLE ragsite_worker")
        world.users["member"].delete()
        assert AuditEvent.objects.filter(subject_email__startswith="deleted user").exists()
        cursor.execute("RESET ROLE")
        transaction.set_rollback(True)


def test_old_events_go_and_young_ones_stay(world: World, settings: Any) -> None:
    settings.RAG_AUDIT_RETENTION_DAYS = 1  # the database has the last word: 90
    now = timezone.now()
    for days in (89, 91):
        AuditEvent.objects.create(action="changed", kind="user", at=now - datetime.timedelta(days=days))
    young = AuditEvent.objects.count() - 1
    assert events.delete_expired() == 1
    assert AuditEvent.objects.count() == young
    settings.RAG_AUDIT_RETENTION_DAYS = 0
    AuditEvent.objects.create(action="changed", kind="user", at=now - datetime.timedelta(days=9_999))
    assert events.delete_expired() == 0


def test_sign_ins_and_their_failures(world: World) -> None:
    """With the address, the request, and what was typed; never the password."""
    client = Client(REMOTE_ADDR="192.0.2.7")
    member = world.users["member"]
    for email, password in ((member.email, factories.PASSWORD), (member.email.upper(), "wrong"), ("no=one", "x")):
        client.post(
            "/api/auth/token", {"email": email, "password": password}, "application/json", headers={}, secure=True
        )
    rows = AuditEvent.objects.filter(address="192.0.2.7").order_by("pk")
    assert [(row.action, row.actor_email, row.subject_id, row.subject_email) for row in rows] == [
        ("signed_in", member.email, member.pk, member.email),
        ("sign_in_failed", "", member.pk, member.email.upper()),
        ("sign_in_failed", "", None, "no=one"),
    ]
    assert all(row.request_id for row in rows)
    assert "wrong" not in str(list(rows.values()))


def test_signing_out_and_in_at_the_admin(world: World) -> None:
    admin = User.objects.create_superuser("root@platform.example", factories.PASSWORD)
    client = Client()
    client.post("/admin/login/", {"username": admin.email, "password": factories.PASSWORD}, secure=True)
    assert (newest().action, newest().after, newest().actor_id) == ("signed_in", {"by": "session"}, admin.pk)
    client.post("/admin/logout/", secure=True)
    assert (newest().action, newest().after, newest().actor_id) == ("signed_out", {"by": "session"}, admin.pk)
    pair = client.post(
        "/api/auth/token", {"email": admin.email, "password": factories.PASSWORD}, "application/json", secure=True
    ).json()
    client.post("/api/auth/token/revoke", {"refresh": pair["refresh"]}, "application/json", secure=True)
    assert (newest().action, newest().after, newest().actor_id) == ("signed_out", {"by": "token"}, admin.pk)


def test_the_key_by_which_something_was_done(world: World) -> None:
    issued = world.key("admin")
    headers = {"X-API-Key": issued.secret}
    source = world.source()
    ingest_text(source, "a", "Zebras.")
    client = Client(REMOTE_ADDR="192.0.2.9")
    reply = client.patch(
        f"/api/rag/sources/{source.pk}", {"visibility": "personal"}, "application/json", headers=headers, secure=True
    )
    assert reply.status_code == 200, reply.content
    event = newest()
    assert (event.actor_email, event.key_prefix) == (world.users["admin"].email, issued.key.prefix)
    assert (event.kind, event.object_id, event.organization_id) == ("source", str(source.pk), world.home.pk)
    assert (event.before, event.after) == ({"visibility": "public"}, {"visibility": "personal"})
    document = source.documents.get()
    client.delete(f"/api/rag/sources/{source.pk}/documents/{document.pk}", headers=headers, secure=True)
    assert (newest().kind, newest().action, newest().object_label) == ("document", "deleted", "a")
    client.delete(f"/api/rag/sources/{source.pk}", headers=headers, secure=True)
    assert (newest().kind, newest().action, newest().key_prefix) == ("source", "deleted", issued.key.prefix)
    secret_parts = (issued.secret, issued.key.hash)
    assert not any(part in str(list(AuditEvent.objects.values())) for part in secret_parts)


def test_keys_made_used_and_revoked(world: World, since: Any) -> None:
    key = world.key("member", "query").key
    service.record_use(key)
    assert service.revoke(ApiKey.objects.all()) == 1
    assert service.revoke(ApiKey.objects.all()) == 0
    made, revoked = since()
    assert made[:3] == ("api_key", "created", {})
    assert made[3] == {"name": "key", "prefix": key.prefix, "scopes": ["query"]}
    assert revoked == ("api_key", "revoked", {}, {})
    assert newest().subject_email == world.users["member"].email


def tried(*keys: service.IssuedKey) -> list[tuple[int, bytes]]:
    client = Client(REMOTE_ADDR="192.0.2.8")
    secrets = [*(each.secret for each in keys), "rk_" + "x" * 43]
    replies = [client.get("/api/rag/sources", headers={"X-API-Key": each}, secure=True) for each in secrets]
    return [(reply.status_code, reply.content) for reply in replies]


def test_a_known_key_that_is_refused_is_told_once_an_hour(world: World) -> None:
    """With where it was tried from; an unknown one never, and the answers are the same."""
    one, other = world.key("member"), world.key("editor")
    ApiKey.objects.update(expires_at=timezone.now())
    answers = tried(one, one, other)
    assert answers == [answers[0]] * 4
    assert answers[0][0] == 401
    rows = AuditEvent.objects.filter(action="refused").order_by("pk")
    row, another = rows.all()
    assert (row.object_label, another.object_label) == (one.key.prefix, other.key.prefix)
    assert (row.kind, row.object_id, row.organization_id) == ("api_key", str(one.key.pk), world.home.pk)
    assert (row.subject_id, row.subject_email) == (world.users["member"].pk, world.users["member"].email)
    assert (row.actor_id, row.actor_email, row.key_prefix) == (None, "", "")
    assert (row.after, row.address, bool(row.request_id)) == ({"reason": "expired"}, "192.0.2.8", True)
    for part in (one.secret[len(one.key.prefix) :], one.key.hash):
        assert part not in str(list(rows.values()))
    service.revoke(ApiKey.objects.all())
    an_hour_ago = timezone.now() - datetime.timedelta(hours=1, seconds=1)
    ApiKey.objects.filter(pk=one.key.pk).update(refused_at=an_hour_ago)
    tried(one, one, other)
    assert newest().after == {"reason": "revoked"}
    assert rows.count() == 3
    assert "expired" in exported(browser(world.users["owner"]), "action=refused")


def test_people_and_what_they_may_do(world: World, since: Any) -> None:
    """One at a time, many at once, and lists from either side."""
    membership = Membership.objects.get(user=world.users["member"])
    editor, team = Role.objects.get(organization=world.home, name="editor"), Team.objects.get(name="support")
    membership.roles.add(editor)
    membership.roles.add(editor)
    team.memberships.set([membership])
    team.memberships.clear()
    Membership.objects.filter(pk=membership.pk).update(is_active=False)
    Role.objects.bulk_create([Role(organization=world.home, name="guest")])
    editor.permissions = []
    editor.save()
    editor.save()
    team.delete()
    Membership.objects.get(pk=membership.pk).delete()
    assert since() == [
        ("membership", "changed", {"roles": ["member"]}, {"roles": ["editor", "member"]}),
        ("membership", "changed", {"teams": ["support"]}, {"teams": []}),
        ("membership", "changed", {"teams": []}, {"teams": ["support"]}),
        ("membership", "changed", {"teams": ["support"]}, {"teams": []}),
        ("membership", "changed", {"is_active": True}, {"is_active": False}),
        ("role", "created", {}, {"name": "guest"}),
        ("role", "changed", {"permissions": ["sources.create", "sources.ingest"]}, {"permissions": []}),
        ("team", "deleted", {"name": "support"}, {}),
        ("membership", "deleted", {"organization": "Home", "is_active": False}, {}),
    ]


def test_accounts_without_what_belongs_to_nobody_else(world: World, since: Any) -> None:
    """That an address, a name or a password was changed; not what they are."""
    user = world.users["member"]
    was = user.email
    user.is_staff, user.email, user.name = True, "new@home.example", "Somebody"
    user.set_password("another")
    user.save()
    ((kind, action, before, after),) = since()
    assert (kind, action, before) == ("user", "changed", {"is_staff": False})
    assert after == {"is_staff": True, "email": "changed", "name": "changed", "password": "changed"}
    assert newest().subject_email == was
    user.save(update_fields=["last_login"])
    assert len(since()) == 1


def test_sources_and_whom_they_are_open_to_in_the_admin(world: World, since: Any) -> None:
    owner = world.users["owner"]
    client = browser(owner)
    signed_in = len(since())
    client.post("/admin/rag/datasource/add/", form(world))
    source, grant = since()[signed_in:]
    assert (source[:2], source[3]["visibility"]) == (("source", "created"), "private")
    member = world.users["member"]
    assert grant == ("grant", "created", {}, {"user": str(member.pk)})
    event = newest()
    assert (event.actor_email, event.subject_email, event.object_label) == (owner.email, member.email, "board-papers")
    Grant.objects.all().delete()
    assert since()[-1][:2] == ("grant", "deleted")
    DataSource.objects.update(visibility=Visibility.PUBLIC)
    assert since()[-1] == ("source", "changed", {"visibility": "private"}, {"visibility": "public"})


def test_what_is_rolled_back_was_not_done(world: World, since: Any) -> None:
    source = world.source()
    made = len(since())
    with transaction.atomic():
        source.visibility = Visibility.PRIVATE
        source.save()
        transaction.set_rollback(True)
    assert len(since()) == made


@pytest.mark.django_db(transaction=True)
def test_a_change_without_its_event_is_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of any transaction, too."""
    organization = Organization.objects.create(name="Home", slug="home")

    def fails(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(events, "record", fails)
    organization.name = "Away"
    for change in (organization.save, lambda: Organization.objects.update(name="Away"), organization.delete):
        with pytest.raises(RuntimeError):
            change()
        assert Organization.objects.get().name == "Home"


def test_moves_between_models_tell_their_states(world: World, since: Any) -> None:
    source = world.source()
    made = len(since())
    model = source.embedding_model
    row = Reembedding.objects.create(source=source, from_model=model, to_model=model, started_by=world.users["admin"])
    Reembedding.objects.filter(pk=row.pk).update(done=5)
    Reembedding.objects.filter(pk=row.pk).update(state=Reembedding.State.CANCELLED)
    started, cancelled = since()[made:]
    assert started[:2] == ("reembedding", "created")
    assert cancelled == ("reembedding", "changed", {"state": "building"}, {"state": "cancelled"})


def test_each_manager_sees_the_events_of_their_organisation_alone(world: World) -> None:
    world.source("home-library")
    world.source("foreign-library", organization=world.abroad)
    owner = browser(world.users["owner"])
    text = owner.get(f"{PAGE}?organization={world.home.pk}", secure=True).content.decode()
    assert "home-library" in text
    assert "foreign" not in text
    assert "Abroad" not in text
    foreign = AuditEvent.objects.filter(organization_id=world.abroad.pk).first()
    assert foreign is not None
    assert owner.get(f"{PAGE}{foreign.pk}/change/", secure=True).status_code == 302
    assert "foreign" not in exported(owner, f"organization={world.abroad.pk}")
    for name in ("editor", "member"):
        assert browser(world.users[name]).get(PAGE, secure=True).status_code == 403
        assert browser(world.users[name]).get(f"{PAGE}export.csv", secure=True).status_code == 403


def test_nobody_writes_the_trail_in_the_admin(world: World) -> None:
    root = browser(User.objects.create_superuser("root@platform.example"))
    event = newest()
    page = root.get(f"{PAGE}{event.pk}/change/", secure=True)
    assert page.status_code == 200
    assert 'name="_save"' not in page.content.decode()
    assert root.post(f"{PAGE}{event.pk}/change/", {"action": "x"}, secure=True).status_code == 403
    assert root.post(f"{PAGE}{event.pk}/delete/", {"post": "yes"}, secure=True).status_code == 403
    assert root.get(f"{PAGE}add/", secure=True).status_code == 403


@pytest.mark.parametrize("query", ["action=deleted", "kind=source&action=deleted", "q=deletable", "at__year=2000"])
def test_the_trail_is_filtered_and_exported_as_it_is_filtered(world: World, query: str) -> None:
    ingest_text(world.source("deletable"), "=cmd()", "Zebras.")
    source = DataSource.objects.get(slug="deletable")
    documents.delete_document(source.documents.get())
    source.deleted_at = timezone.now()
    source.save(update_fields=["deleted_at"])
    root = browser(User.objects.create_superuser("root@platform.example"))
    page = root.get(f"{PAGE}?{query}", secure=True)
    assert page.status_code == 200
    rows = list(csv.DictReader(io.StringIO(exported(root, query))))
    assert len(rows) == page.context["cl"].result_count
    if query == "action=deleted":
        assert [row["object_label"] for row in rows] == ["deletable", "'=cmd()"]
    assert (newest().kind, newest().action) == ("audit_trail", "exported")


@pytest.mark.parametrize(
    "query", ["actor_id__gt=0", "organization__slug=home", "at__regex=.", "organization=x", "p=-1"]
)
def test_an_address_that_somebody_made_up_is_no_error(world: World, query: str) -> None:
    root = browser(User.objects.create_superuser("root@platform.example"))
    reply: Any = root.get(f"{PAGE}export.csv?{query}", secure=True)
    assert reply.status_code in (200, 400, 404)
    b"".join(reply)  # read to its end, a file is closed
