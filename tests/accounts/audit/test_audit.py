"""Which actions the audit trail records, and with which data."""

import datetime
import json
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from accounts.audit import events
from accounts.audit.events import AuditEvent
from accounts.models import User
from orgs.access.permissions import Visibility
from orgs.api_keys import key_lifecycle
from orgs.authentication.last_use import record_use
from orgs.models import ApiKey, Membership, Organization, Role, Team
from rag.models import DataSource, Grant, Reembedding
from tests.accounts.audit.audit_helpers import export_csv, newest_event
from tests.admin.sources.test_source_pages import form
from tests.support import factories
from tests.support.browsers import staff_browser
from tests.support.factories import World, ingest_text


@pytest.fixture
def list_events(world: World) -> Any:
    """list_events() returns (kind, action, before, after) of each event since the world was created, oldest first."""
    assert not AuditEvent.objects.exists()

    def events() -> list[tuple[Any, ...]]:
        rows = AuditEvent.objects.order_by("pk")
        return [*rows.values_list("kind", "action", "before", "after")]

    return events


def test_sign_ins_and_failed_sign_ins_are_recorded(world: World) -> None:
    """With the IP address, the request id and the email as typed; never with the password."""
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


def test_signing_in_and_out_of_the_admin_is_recorded(world: World) -> None:
    admin = User.objects.create_superuser("root@platform.example", factories.PASSWORD)
    client = Client()
    client.post("/admin/login/", {"username": admin.email, "password": factories.PASSWORD}, secure=True)
    assert (newest_event().action, newest_event().after, newest_event().actor_id) == (
        "signed_in",
        {"by": "session"},
        admin.pk,
    )
    client.post("/admin/logout/", secure=True)
    assert (newest_event().action, newest_event().after, newest_event().actor_id) == (
        "signed_out",
        {"by": "session"},
        admin.pk,
    )
    pair = client.post(
        "/api/auth/token", {"email": admin.email, "password": factories.PASSWORD}, "application/json", secure=True
    ).json()
    client.post("/api/auth/token/revoke", {"refresh": pair["refresh"]}, "application/json", secure=True)
    assert (newest_event().action, newest_event().after, newest_event().actor_id) == (
        "signed_out",
        {"by": "token"},
        admin.pk,
    )


def test_events_name_the_api_key_that_was_used(world: World) -> None:
    issued = world.key("admin")
    headers = {"X-API-Key": issued.secret}
    source = world.source()
    ingest_text(source, "a", "Zebras.")
    client = Client(REMOTE_ADDR="192.0.2.9")
    reply = client.patch(
        f"/api/rag/sources/{source.pk}", {"visibility": "personal"}, "application/json", headers=headers, secure=True
    )
    assert reply.status_code == 200, reply.content
    event = newest_event()
    assert (event.actor_email, event.key_prefix) == (world.users["admin"].email, issued.key.prefix)
    assert (event.kind, event.object_id, event.organization_id) == ("source", str(source.pk), world.home.pk)
    assert (event.before, event.after) == ({"visibility": "public"}, {"visibility": "personal"})
    document = source.documents.get()
    client.delete(f"/api/rag/sources/{source.pk}/documents/{document.pk}", headers=headers, secure=True)
    assert (newest_event().kind, newest_event().action, newest_event().object_label) == ("document", "deleted", "a")
    client.delete(f"/api/rag/sources/{source.pk}", headers=headers, secure=True)
    assert (newest_event().kind, newest_event().action, newest_event().key_prefix) == (
        "source",
        "deleted",
        issued.key.prefix,
    )
    secret_parts = (issued.secret, issued.key.hash)
    assert not any(part in str(list(AuditEvent.objects.values())) for part in secret_parts)


def test_creating_and_revoking_a_key_is_recorded(world: World, list_events: Any) -> None:
    key = world.key("member", "query").key
    record_use(key)
    assert key_lifecycle.revoke(ApiKey.objects.all()) == 1
    assert key_lifecycle.revoke(ApiKey.objects.all()) == 0
    created, revoked = list_events()
    assert created[:3] == ("api_key", "created", {})
    assert created[3] == {"name": "key", "prefix": key.prefix, "scopes": ["query"], "all_organizations": False}
    assert revoked == ("api_key", "revoked", {}, {})
    assert newest_event().subject_email == world.users["member"].email


def send_keys(*keys: key_lifecycle.IssuedKey) -> list[tuple[int, bytes]]:
    """Status and body of a request with each of the keys, and with an unknown key at the end."""
    client = Client(REMOTE_ADDR="192.0.2.8")
    secrets = [*(key.secret for key in keys), "rk_" + "x" * 43]
    replies = [client.get("/api/rag/sources", headers={"X-API-Key": secret}, secure=True) for secret in secrets]
    return [(reply.status_code, reply.content) for reply in replies]


def test_a_refused_key_is_audited_once_an_hour(world: World) -> None:
    """With the IP address. An unknown key is not audited, but gets the same answer."""
    one, other = world.key("member"), world.key("editor")
    ApiKey.objects.update(expires_at=timezone.now())
    answers = send_keys(one, one, other)
    messages = [(status, json.loads(body)["message"]) for status, body in answers]
    assert messages == [messages[0]] * 4
    assert answers[0][0] == 401
    rows = AuditEvent.objects.filter(action="refused").order_by("pk")
    row, other_row = rows.all()
    assert (row.object_label, other_row.object_label) == (one.key.prefix, other.key.prefix)
    assert (row.kind, row.object_id, row.organization_id) == ("api_key", str(one.key.pk), world.home.pk)
    assert (row.subject_id, row.subject_email) == (world.users["member"].pk, world.users["member"].email)
    assert (row.actor_id, row.actor_email, row.key_prefix) == (None, "", "")
    assert (row.after, row.address, bool(row.request_id)) == ({"reason": "expired"}, "192.0.2.8", True)
    for part in (one.secret[len(one.key.prefix) :], one.key.hash):
        assert part not in str(list(rows.values()))
    key_lifecycle.revoke(ApiKey.objects.all())
    an_hour_ago = timezone.now() - datetime.timedelta(hours=1, seconds=1)
    ApiKey.objects.filter(pk=one.key.pk).update(refused_at=an_hour_ago)
    send_keys(one, one, other)
    assert newest_event().after == {"reason": "revoked"}
    assert rows.count() == 3
    assert "expired" in export_csv(staff_browser(world.users["owner"]), "action=refused")


def test_changes_of_memberships_roles_and_teams_are_recorded(world: World, list_events: Any) -> None:
    """By save, by bulk operations, and from both sides of many-to-many relations."""
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
    assert list_events() == [
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


def test_changes_of_an_account_are_recorded_without_personal_values(world: World, list_events: Any) -> None:
    """A changed email, name or password is recorded without its value."""
    user = world.users["member"]
    old_email = user.email
    user.is_staff, user.email, user.name = True, "new@home.example", "Somebody"
    user.set_password("another")
    user.save()
    ((kind, action, before, after),) = list_events()
    assert (kind, action, before) == ("user", "changed", {"is_staff": False})
    assert after == {"is_staff": True, "email": "changed", "name": "changed", "password": "changed"}
    assert newest_event().subject_email == old_email
    user.save(update_fields=["last_login"])
    assert len(list_events()) == 1


def test_changes_of_sources_and_grants_in_the_admin_are_recorded(world: World, list_events: Any) -> None:
    owner = world.users["owner"]
    client = staff_browser(owner)
    count_before = len(list_events())
    client.post("/admin/rag/datasource/add/", form(world))
    source, grant = list_events()[count_before:]
    assert (source[:2], source[3]["visibility"]) == (("source", "created"), "private")
    member = world.users["member"]
    assert grant == ("grant", "created", {}, {"user": str(member.pk)})
    event = newest_event()
    assert (event.actor_email, event.subject_email, event.object_label) == (owner.email, member.email, "board-papers")
    page = client.get("/admin/accounts/auditevent/", {"q": str(DataSource.objects.get().pk)})
    assert [event.kind for event in page.context["cl"].result_list] == ["grant", "source"]
    Grant.objects.all().delete()
    assert list_events()[-1][:2] == ("grant", "deleted")
    DataSource.objects.update(visibility=Visibility.PUBLIC)
    assert list_events()[-1] == ("source", "changed", {"visibility": "private"}, {"visibility": "public"})


def test_a_rolled_back_change_leaves_no_event(world: World, list_events: Any) -> None:
    source = world.source()
    count_before = len(list_events())
    with transaction.atomic():
        source.visibility = Visibility.PRIVATE
        source.save()
        transaction.set_rollback(True)
    assert len(list_events()) == count_before


@pytest.mark.django_db(transaction=True)
def test_a_change_fails_if_its_event_cannot_be_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also outside of a transaction."""
    organization = Organization.objects.create(name="Home", slug="home")

    def fail(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr(events, "record", fail)
    organization.name = "Away"
    for change in (organization.save, lambda: Organization.objects.update(name="Away"), organization.delete):
        with pytest.raises(RuntimeError):
            change()
        assert Organization.objects.get().name == "Home"


def test_state_changes_of_a_reembedding_are_recorded(world: World, list_events: Any) -> None:
    source = world.source()
    count_before = len(list_events())
    model = source.embedding_model
    row = Reembedding.objects.create(source=source, from_model=model, to_model=model, started_by=world.users["admin"])
    Reembedding.objects.filter(pk=row.pk).update(done=5)
    Reembedding.objects.filter(pk=row.pk).update(state=Reembedding.State.CANCELLED)
    started, cancelled = list_events()[count_before:]
    assert started[:2] == ("reembedding", "created")
    assert cancelled == ("reembedding", "changed", {"state": "building"}, {"state": "cancelled"})
