"""What is kept of what people ask, for how long, and what is left of those who are gone."""

import datetime
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from accounts.audit.events import AuditEvent, pseudonym_of
from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.permissions import QueryHistory, Visibility
from orgs.policies.retention import retention_for
from orgs.services import add_member, get_service_user
from rag.models import Action, Conversation, DataSource, Grant, SearchRecord
from rag.services.ingestion import inputs
from rag.services.jobs import originals, submit
from rag.services.maintenance import history_retention
from rag.services.search import conversations, history, queries
from rag.services.sources import deletion
from rag.types import Message, Question, Submission
from tests.admin.test_admin import browser
from tests.support.factories import PASSWORD, World, ingest_text, process_queue
from tests.support.http import Client

Api = Callable[..., Client]
SECRET = "zebra"


def keep(world: World, history: str = "full", days: int | None = None) -> None:
    world.home.query_history, world.home.history_days = history, days
    world.home.save()


def reader(world: World, name: str = "member") -> queries.SourceSelection:
    return queries.SourceSelection(Caller(world.users[name]))


def ask(world: World, name: str = "member") -> None:
    """A search and an exchange of a chat, kept as its organisation wants it."""
    history.search(Question(SECRET, top_k=5), reader(world, name))
    turn = conversations.ChatTurn([Message("user", SECRET)], question=Question(SECRET, top_k=5))
    queries.run_to_completion(conversations.chat(turn, reader(world, name)))


@pytest.mark.parametrize(("kept", "texts", "talks"), [("full", [SECRET], 1), ("redacted", [""], 0), ("none", [], 0)])
def test_an_organisation_decides_what_is_kept_of_questions(
    world: World, kept: str, texts: list[str], talks: int
) -> None:
    ingest_text(world.source(), "a", "Zebras graze.")
    keep(world, kept)
    ask(world)
    assert list(SearchRecord.objects.values_list("text", flat=True)) == texts
    assert Conversation.objects.count() == talks
    assert all(record.results for record in SearchRecord.objects.all())


def test_the_contracts_hold_whatever_is_kept(api: Api, live_world: World) -> None:
    """Search service, 1 and 2; v3, 2.3: there is a query_id and a conversationId in every answer."""
    ingest_text(live_world.source(), "a", "Zebras graze.")
    member = api("member")
    body = {"messages": [{"role": "user", "content": "Where do zebras graze?"}], "useRag": True}
    earlier = member.post("/api/v1/search", {"query": SECRET}).body["query_id"]
    for kept, status, text in (("redacted", 200, ""), ("none", 404, None)):
        keep(live_world, kept)
        found = member.post("/api/v1/search", {"query": SECRET}).body
        assert found["total_results"] == 1
        for each in (found["query_id"], earlier):
            again = member.get(f"/api/v1/search/{each}")
            assert (again.status, again.body.get("query_text")) == (status, text)
        chat = member.post("/api/chat", body)
        assert chat.body["ragSources"][0]["text"] == "Zebras graze."
        identifier = chat.body["data"]["conversationId"]
        next_turn = member.post("/api/chat", {**body, "conversationId": identifier})
        assert (next_turn.status, next_turn.body["data"]["conversationId"]) == (200, identifier)
        assert member.post("/api/chat", {**body, "conversationId": "x"}).status == 404
    assert not Conversation.objects.exists()


def test_of_several_organisations_the_strictest_counts(world: World, settings: Any) -> None:
    settings.RAG_HISTORY_RETENTION_DAYS = 30
    member = world.users["member"]
    assert retention_for(member).days == 30
    membership = add_member(user=member, organization=world.abroad)
    keep(world, "redacted", 40)
    world.abroad.query_history = "none"
    world.abroad.save()
    assert (retention_for(member).history, retention_for(member).days) == (QueryHistory.NONE, 30)
    membership.is_active = False
    membership.save()
    assert (retention_for(member).history, retention_for(member).days) == (QueryHistory.REDACTED, 40)
    member.is_active = False
    member.save()
    assert retention_for(member).history == QueryHistory.NONE, "of those that somebody belonged to, once there is none"
    settings.RAG_HISTORY_RETENTION_DAYS = 0
    assert retention_for(User.objects.create_user("nobody@example.org")).days is None


def test_every_night_what_is_too_old_is_forgotten(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_retention, "_BATCH_SIZE", 2)
    ingest_text(world.source(), "a", "Zebras graze.")
    keep(world, days=10)
    for _ in range(3):
        ask(world)
    old = timezone.now() - datetime.timedelta(days=11)
    SearchRecord.objects.update(created_at=old)
    Conversation.objects.update(updated_at=old)
    ask(world)
    ask(world, "foreigner")
    history_retention.delete_expired_history()
    assert (SearchRecord.objects.count(), Conversation.objects.count()) == (2, 2)
    keep(world, "redacted", 10)
    history_retention.delete_expired_history()
    assert set(SearchRecord.objects.values_list("user__email", "text")) == {
        ("member@home.example", ""),
        ("foreigner@abroad.example", SECRET),
    }
    assert Conversation.objects.get().user == world.users["foreigner"]
    keep(world, "none")
    history_retention.delete_expired_history()
    assert SearchRecord.objects.get().user == world.users["foreigner"]


def files(folder: Path) -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_file()]


def occurrences(*needles: object) -> dict[str, list[str]]:
    """The rows of any table that hold any of these, as text."""
    found = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            condition = " OR ".join(["strpos(each::text, %s) > 0"] * len(needles))
            cursor.execute(f'SELECT each::text FROM "{table}" AS each WHERE {condition}', [str(n) for n in needles])
            if rows := [row for (row,) in cursor.fetchall()]:
                found[table] = rows
    return found


def test_a_deleted_user_is_gone_from_everything(world: World) -> None:
    """Searches, chats, keys, tokens and names; what they sent stays, their personal sources unread."""
    root = browser(User.objects.create_superuser("root@platform.example"))
    member = world.users["member"]
    world.key("member")
    source = world.source("diary", owner=member, visibility=Visibility.PERSONAL)
    Grant.objects.create(source=world.source("papers", visibility=Visibility.PRIVATE), user=member)
    ingest_text(source, "a", "Zebras graze.")
    job = submit.submit_job(
        source=source,
        submissions=[Submission(path="b", title="b", text="Lions.")],
        options=inputs.default_chunking_options(),
        actor=member,
    )
    ask(world)
    client = browser(member)
    client.post("/api/auth/token", {"email": member.email, "password": PASSWORD}, "application/json", secure=True)
    root.post(f"/admin/accounts/user/{member.pk}/change/", {"email": member.email, "name": "N"}, secure=True)
    assert AuditEvent.objects.filter(actor_id=member.pk).exclude(address=None).exists()
    page = root.get(f"/admin/accounts/user/{member.pk}/delete/", secure=True)
    assert "1 api keys" in page.content.decode()
    reply = root.post(f"/admin/accounts/user/{member.pk}/delete/", {"post": "yes"}, secure=True)
    assert reply.status_code == 302, reply.content.decode()
    left = occurrences(member.email)
    assert left == {}
    assert set(occurrences(member.pk)) <= {"accounts_auditevent", "django_admin_log"}
    events = AuditEvent.objects.filter(actor_id=member.pk)
    assert set(events.values_list("actor_email", "address")) == {(pseudonym_of(member.pk), None)}
    assert set(AuditEvent.objects.filter(subject_id=member.pk).values_list("subject_email", flat=True)) == {
        pseudonym_of(member.pk)
    }
    assert LogEntry.objects.filter(object_repr=pseudonym_of(member.pk)).exists()
    source.refresh_from_db()
    job.refresh_from_db()
    assert (source.owner, job.created_by) == (None, None)
    for user in world.users.values():
        if user != member:
            assert not DataSource.objects.visible_to(Caller(user), Action.QUERY).filter(pk=source.pk).exists()


def test_of_a_deleted_organisation_nothing_is_left(live_world: World, stored_files: Path) -> None:
    """In no table, and no file; but in the audit trail, which says that there was one."""
    world = live_world
    source = world.source("papers", visibility=Visibility.TEAM)
    Grant.objects.create(source=source, team=world.home.teams.get())
    ingest_text(source, "a", "Zebras graze.")
    job = submit.submit_job(
        source=source,
        submissions=[Submission(path="b", title="b", text="Lions roar.")],
        options=inputs.default_chunking_options(),
        actor=world.users["owner"],
    )
    process_queue()
    originals.store_files(source=source, files=[originals.IncomingFile(lambda: io.BytesIO(b"Zebras."), "x", "")])
    assert files(stored_files)
    world.key("owner")
    service = get_service_user("home")
    ingest_text(world.source("abroad", organization=world.abroad), "a", "Zebras graze abroad.")
    root = browser(User.objects.create_superuser("root@platform.example"))
    address = f"/admin/orgs/organization/{world.home.pk}"
    assert "2 documents" in root.get(f"{address}/delete/", secure=True).content.decode()
    assert root.post(f"{address}/delete/", {"post": "yes"}, secure=True).status_code == 302
    assert not DataSource.objects.visible_to(Caller(world.users["owner"]), Action.VIEW).exists()
    assert root.get(f"{address}/change/", secure=True).status_code == 302, "it does not exist any more"
    for _ in range(5):
        deletion.purge_deleted()
    ids = [world.home.pk, source.pk, job.pk]
    assert set(occurrences(*ids)) <= {"accounts_auditevent", "django_admin_log"}
    assert not files(stored_files)
    assert service is not None
    assert not User.objects.filter(pk=service.pk).exists()
    assert User.objects.filter(pk=world.users["owner"].pk).exists(), "people may belong to others"
    assert list(DataSource.objects.values_list("slug", flat=True)) == ["abroad"]
    event = AuditEvent.objects.get(kind="organization", action="deleted")
    assert (event.object_id, event.actor_email) == (str(world.home.pk), "root@platform.example")


def test_a_person_gets_everything_that_is_kept_about_them(world: World, tmp_path: Path) -> None:
    """And nothing of anybody else, nor a secret."""
    ingest_text(world.source(), "a", "Zebras graze.")
    issued = world.key("member")
    ask(world)
    SearchRecord.objects.create(user=world.users["owner"], text="not theirs", time_ms=1)
    file = tmp_path / "member.json"
    call_command("export_user", "MEMBER@home.example", str(file), stdout=io.StringIO())
    content = file.read_text()
    told = json.loads(content)
    assert told["profile"][0]["email"] == "member@home.example"
    assert told["memberships"][0]["roles"] == ["member"]
    assert told["api_keys"][0]["prefix"] == issued.key.prefix
    assert told["searches"][0]["text"] == SECRET
    assert told["conversations"][0]["messages"][0]["content"] == SECRET
    assert {"created", "exported"} <= {event["action"] for event in told["audit_events"]}
    for hidden in (issued.secret, issued.key.hash, world.users["member"].password, "not theirs", "owner@"):
        assert hidden not in content
    assert file.stat().st_mode & 0o777 == 0o600
    for again in ("member@home.example", "nobody@home.example"):
        with pytest.raises(CommandError):
            call_command("export_user", again, str(file))


def test_the_admin_exports_one_person_at_a_time(world: World) -> None:
    page = "/admin/accounts/user/"
    root = browser(User.objects.create_superuser("root@platform.example"))
    member, owner = world.users["member"], world.users["owner"]
    form = {"action": "export_data", "_selected_action": [str(member.pk)]}
    reply: Any = root.post(page, form, secure=True)
    assert json.loads(b"".join(reply))["profile"][0]["email"] == member.email
    assert AuditEvent.objects.latest("id").subject_email == member.email
    both = {**form, "_selected_action": [str(member.pk), str(owner.pk)]}
    assert root.post(page, both, secure=True).status_code == 302
    assert browser(owner).post(page, form, secure=True).status_code == 403


def test_no_table_is_left_out_of_thought() -> None:
    """A new model that belongs to a user must be thought of in the export
    (rag/services/maintenance/personal_data.py)."""
    known = {"Membership", "ApiKey", "DataSource", "Grant", "SearchRecord", "Conversation", "IngestionJob"}
    # Who began something is noted beside it, and is no more than that.
    notes = {"Reembedding", "GoldenQuestion"}
    ours = [model for app in ("accounts", "orgs", "rag") for model in apps.get_app_config(app).get_models()]
    naming = {model.__name__ for model in ours for field in model._meta.fields if field.related_model is User}
    assert naming == known | notes
