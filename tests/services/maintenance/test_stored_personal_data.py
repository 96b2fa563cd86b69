"""Query history and its retention, the deletion of users and organisations, and the export of personal data."""

import datetime
import io
import json
import uuid
from collections.abc import Callable
from functools import partial
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
from orgs.creation import add_member, get_service_user
from orgs.policies.retention import retention_for
from rag.models import Action, Conversation, DataSource, Grant, SearchRecord
from rag.services.ingestion import build_submissions
from rag.services.jobs.create_job import create_job
from rag.services.maintenance.retention import delete_old_history
from rag.services.queries import chat_replies, permitted_queries
from rag.services.queries.history import stored_searches
from rag.services.queries.source_selection import SourceSelection
from rag.services.sources import original_files, purge
from rag.types import Message, Question, Submission
from tests.support.browsers import staff_browser
from tests.support.factories import PASSWORD, World, ingest_text, process_queue
from tests.support.http import Client

Api = Callable[..., Client]
SECRET = "zebra"


def set_history_policy(world: World, history: str = "full", days: int | None = None) -> None:
    world.home.query_history, world.home.history_days = history, days
    world.home.save()


def selection_of(world: World, name: str = "member") -> SourceSelection:
    return SourceSelection(Caller(world.users[name]))


def search_and_chat(world: World, name: str = "member") -> None:
    """Record a search and a chat turn of the user, as their organisation's policy says."""
    stored_searches.search(Question(SECRET, top_k=5), selection_of(world, name))
    turn = chat_replies.ChatTurn([Message("user", SECRET)], question=Question(SECRET, top_k=5))
    permitted_queries.run_to_completion(chat_replies.chat(turn, selection_of(world, name)))


@pytest.mark.parametrize(("policy", "texts", "chats"), [("full", [SECRET], 1), ("redacted", [""], 0), ("none", [], 0)])
def test_the_organisations_policy_decides_what_is_stored(
    world: World, policy: str, texts: list[str], chats: int
) -> None:
    ingest_text(world.source(), "a", "Zebras graze.")
    set_history_policy(world, policy)
    search_and_chat(world)
    assert list(SearchRecord.objects.values_list("text", flat=True)) == texts
    assert Conversation.objects.count() == chats
    assert all(record.results for record in SearchRecord.objects.all())


def test_the_contracts_are_met_under_every_history_policy(api: Api, live_world: World) -> None:
    """Search service, 1 and 2; v3, 2.3: every answer has a query_id or a conversationId."""
    ingest_text(live_world.source(), "a", "Zebras graze.")
    member = api("member")
    body = {"messages": [{"role": "user", "content": "Where do zebras graze?"}], "useRag": True}
    earlier_id = member.post("/api/v1/search", {"query": SECRET}).body["query_id"]
    for policy, status, text in (("redacted", 200, ""), ("none", 404, None)):
        set_history_policy(live_world, policy)
        search = member.post("/api/v1/search", {"query": SECRET}).body
        assert search["total_results"] == 1
        for query_id in (search["query_id"], earlier_id):
            stored_search = member.get(f"/api/v1/search/{query_id}")
            assert (stored_search.status, stored_search.body.get("query_text")) == (status, text)
        chat = member.post("/api/chat", body)
        assert chat.body["ragSources"][0]["text"] == "Zebras graze."
        conversation_id = chat.body["data"]["conversationId"]
        next_turn = member.post("/api/chat", {**body, "conversationId": conversation_id})
        assert (next_turn.status, next_turn.body["data"]["conversationId"]) == (200, conversation_id)
        assert member.post("/api/chat", {**body, "conversationId": "x"}).status == 404
    assert not Conversation.objects.exists()


def test_the_strictest_policy_of_a_users_organisations_applies(world: World, settings: Any) -> None:
    settings.RAG_HISTORY_RETENTION_DAYS = 30
    member = world.users["member"]
    assert retention_for(member).days == 30
    membership = add_member(user=member, organization=world.abroad)
    set_history_policy(world, "redacted", 40)
    world.abroad.query_history = "none"
    world.abroad.save()
    assert (retention_for(member).history, retention_for(member).days) == (QueryHistory.NONE, 30)
    membership.is_active = False
    membership.save()
    assert (retention_for(member).history, retention_for(member).days) == (QueryHistory.REDACTED, 40)
    member.is_active = False
    member.save()
    assert retention_for(member).history == QueryHistory.NONE, "without an active membership, the former ones count"
    settings.RAG_HISTORY_RETENTION_DAYS = 0
    assert retention_for(User.objects.create_user("nobody@example.org")).days is None


def test_expired_history_is_deleted(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delete_old_history, "_BATCH_SIZE", 2)
    ingest_text(world.source(), "a", "Zebras graze.")
    set_history_policy(world, days=10)
    for _ in range(3):
        search_and_chat(world)
    old = timezone.now() - datetime.timedelta(days=11)
    SearchRecord.objects.update(created_at=old)
    Conversation.objects.update(updated_at=old)
    search_and_chat(world)
    search_and_chat(world, "foreigner")
    delete_old_history.delete_expired_history()
    assert (SearchRecord.objects.count(), Conversation.objects.count()) == (2, 2)
    set_history_policy(world, "redacted", 10)
    delete_old_history.delete_expired_history()
    assert set(SearchRecord.objects.values_list("user__email", "text")) == {
        ("member@home.example", ""),
        ("foreigner@abroad.example", SECRET),
    }
    assert Conversation.objects.get().user == world.users["foreigner"]
    set_history_policy(world, "none")
    delete_old_history.delete_expired_history()
    assert SearchRecord.objects.get().user == world.users["foreigner"]


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def occurrences(*needles: object) -> dict[str, list[str]]:
    """For each table, the rows that contain any of the needles, as text."""
    rows_by_table = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            condition = " OR ".join(["strpos(whole_row::text, %s) > 0"] * len(needles))
            cursor.execute(
                f'SELECT whole_row::text FROM "{table}" AS whole_row WHERE {condition}', [str(n) for n in needles]
            )
            if rows := [row for (row,) in cursor.fetchall()]:
                rows_by_table[table] = rows
    return rows_by_table


def test_deleting_a_user_deletes_their_personal_data(world: World) -> None:
    """Searches, chats, keys, tokens and names. Documents stay; nobody else may read their personal sources."""
    root = staff_browser(User.objects.create_superuser("root@platform.example"))
    member = world.users["member"]
    world.key("member")
    source = world.source("diary", owner=member, visibility=Visibility.PERSONAL)
    Grant.objects.create(source=world.source("papers", visibility=Visibility.PRIVATE), user=member)
    ingest_text(source, "a", "Zebras graze.")
    job = create_job(
        source=source,
        submissions=[Submission(path="b", title="b", text="Lions.")],
        options=build_submissions.default_chunking_options(),
        actor=member,
    )
    search_and_chat(world)
    client = staff_browser(member)
    client.post("/api/auth/token", {"email": member.email, "password": PASSWORD}, "application/json", secure=True)
    root.post(f"/admin/accounts/user/{member.pk}/change/", {"email": member.email, "name": "N"}, secure=True)
    assert AuditEvent.objects.filter(actor_id=member.pk).exclude(address=None).exists()
    page = root.get(f"/admin/accounts/user/{member.pk}/delete/", secure=True)
    assert "API keys: 1" in page.content.decode()
    reply = root.post(f"/admin/accounts/user/{member.pk}/delete/", {"post": "yes"}, secure=True)
    assert reply.status_code == 302, reply.content.decode()
    assert occurrences(member.email) == {}
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


def test_deleting_an_organisation_deletes_its_data_and_files(live_world: World, stored_files: Path) -> None:
    """From all tables except the audit trail, and from the file storage."""
    world = live_world
    source = world.source("papers", visibility=Visibility.TEAM)
    Grant.objects.create(source=source, team=world.home.teams.get())
    ingest_text(source, "a", "Zebras graze.")
    job = create_job(
        source=source,
        submissions=[Submission(path="b", title="b", text="Lions roar.")],
        options=build_submissions.default_chunking_options(),
        actor=world.users["owner"],
    )
    process_queue()
    contents = (b"Zebras.", b"x" * (original_files.MAX_BYTES_IN_ROW + 1))
    incoming = [original_files.IncomingFile(partial(io.BytesIO, content), "x", "") for content in contents]
    original_files.store_files(source=source, files=incoming)
    assert files(stored_files)
    world.key("owner")
    service = get_service_user("home")
    ingest_text(world.source("abroad", organization=world.abroad), "a", "Zebras graze abroad.")
    root = staff_browser(User.objects.create_superuser("root@platform.example"))
    address = f"/admin/orgs/organization/{world.home.pk}"
    assert "Documents: 2" in root.get(f"{address}/delete/", secure=True).content.decode()
    assert root.post(f"{address}/delete/", {"post": "yes"}, secure=True).status_code == 302
    assert not DataSource.objects.visible_to(Caller(world.users["owner"]), Action.VIEW).exists()
    assert root.get(f"{address}/change/", secure=True).status_code == 302, (
        "the page redirects, because the organisation no longer exists"
    )
    for _ in range(5):
        purge.purge_deleted()
    ids = [world.home.pk, source.pk, job.pk]
    assert set(occurrences(*ids)) <= {"accounts_auditevent", "django_admin_log"}
    assert not files(stored_files)
    assert service is not None
    assert not User.objects.filter(pk=service.pk).exists()
    assert User.objects.filter(pk=world.users["owner"].pk).exists(), "users may belong to other organisations"
    assert list(DataSource.objects.values_list("slug", flat=True)) == ["abroad"]
    event = AuditEvent.objects.get(kind="organization", action="deleted")
    assert (event.object_id, event.actor_email) == (str(world.home.pk), "root@platform.example")


def test_export_user_writes_all_data_about_a_person(world: World, tmp_path: Path) -> None:
    """The file contains no secrets and no data of other people."""
    ingest_text(world.source(), "a", "Zebras graze.")
    issued = world.key("member")
    search_and_chat(world)
    SearchRecord.objects.create(user=world.users["owner"], text="not theirs", time_ms=1)
    file = tmp_path / "member.json"
    call_command("export_user", "MEMBER@home.example", str(file), stdout=io.StringIO())
    content = file.read_text()
    export = json.loads(content)
    assert export["profile"][0]["email"] == "member@home.example"
    assert export["memberships"][0]["roles"] == ["member"]
    assert export["api_keys"][0]["prefix"] == issued.key.prefix
    assert export["searches"][0]["text"] == SECRET
    assert export["conversations"][0]["messages"][0]["content"] == SECRET
    assert {"created", "exported"} <= {event["action"] for event in export["audit_events"]}
    for hidden in (issued.secret, issued.key.hash, world.users["member"].password, "not theirs", "owner@"):
        assert hidden not in content
    assert file.stat().st_mode & 0o777 == 0o600
    # The file exists already; the second user does not exist.
    for email in ("member@home.example", "nobody@home.example"):
        with pytest.raises(CommandError):
            call_command("export_user", email, str(file))


def test_an_export_withholds_answers_from_sources_that_the_person_may_no_longer_query(
    world: World, tmp_path: Path
) -> None:
    """Neither whoever exports the data nor the person may read them; what the person wrote is theirs."""
    source = world.source()
    ingest_text(source, "a", "Zebras graze at night.")
    search_and_chat(world)
    root = staff_browser(User.objects.create_superuser("root@platform.example"))
    form = {"action": "export_data", "_selected_action": [str(world.users["member"].pk)]}

    def exports() -> list[str]:
        file = tmp_path / f"{uuid.uuid4()}.json"
        call_command("export_user", "member@home.example", str(file), stdout=io.StringIO())
        reply: Any = root.post("/admin/accounts/user/", form, secure=True)
        return [file.read_text(), b"".join(reply).decode()]

    assert all("Zebras graze" in export for export in exports())
    source.visibility = Visibility.PRIVATE
    source.save()
    for export in exports():
        assert "Zebras graze" not in export
        question, answer = json.loads(export)["conversations"][0]["messages"]
        assert (question["content"], answer["content"], answer["is_withheld"]) == (SECRET, "", True)


def test_the_admin_exports_one_person_at_a_time(world: World) -> None:
    page = "/admin/accounts/user/"
    root = staff_browser(User.objects.create_superuser("root@platform.example"))
    member, owner = world.users["member"], world.users["owner"]
    form = {"action": "export_data", "_selected_action": [str(member.pk)]}
    reply: Any = root.post(page, form, secure=True)
    assert json.loads(b"".join(reply))["profile"][0]["email"] == member.email
    assert AuditEvent.objects.latest("id").subject_email == member.email
    both = {**form, "_selected_action": [str(member.pk), str(owner.pk)]}
    assert root.post(page, both, secure=True).status_code == 302
    assert staff_browser(owner).post(page, form, secure=True).status_code == 403


def test_every_model_with_a_user_is_considered_in_the_export() -> None:
    """rag/services/maintenance/personal_data_export.py must consider each model with a foreign key to a user."""
    exported = {"Membership", "ApiKey", "DataSource", "Grant", "SearchRecord", "Conversation", "IngestionJob"}
    exported |= {"TokenFamily", "LinkedIdentity", "UnansweredQuestion", "Invitation"}
    # These only record who set up or started something, count what is exported, or are kept for a day.
    not_exported = {
        "Reembedding",
        "GoldenQuestion",
        "HistoryUsage",
        "IdentityProvider",
        "IdempotentRequest",
        "OAuthCode",
        "SyncConnection",
        "SyncRun",
    }
    models = [model for app in ("accounts", "orgs", "rag") for model in apps.get_app_config(app).get_models()]
    with_user = {model.__name__ for model in models for field in model._meta.fields if field.related_model is User}
    assert with_user == exported | not_exported
