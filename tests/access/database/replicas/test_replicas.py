"""Searches on two read replicas, which lag, stop and come back."""

from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.test import Client
from django.utils import timezone

from orgs.access.caller import Caller
from orgs.access.permissions import Visibility
from rag.models import DataSource, Document
from rag.providers import provider_factory
from rag.types import Mode
from ragsite.observability import measurement_buffer
from ragsite.postgres import identity
from ragsite.postgres.replicas import positions, routing
from ragsite.postgres.roles import checks
from tests.access.database.injection import web_process
from tests.access.database.replicas.replica_searches import SearchOutcome, search, search_again, used_replica
from tests.support.factories import World, ingest_text, process_queue
from tests.support.servers.pgbouncer import PROGRAM
from tests.support.servers.replicas import Replica


def test_every_kind_of_search_gives_the_same_answers(
    live_world: World, in_sync: Callable[..., None], settings: Any
) -> None:
    caller = Caller(live_world.users["member"])
    for number in range(3):
        source = live_world.source(f"s{number}")
        for name in ("zebra", "okapi", "Giraffen"):
            ingest_text(source, name, f"The {name} of herd {number} eats grass. Herds of {name} live in the savanna.")
    settings.RAG_DATABASE_REPLICAS, addresses = [], settings.RAG_DATABASE_REPLICAS
    kinds: list[dict[str, Any]] = [
        {"text": text, "mode": mode, "rerank": rerank}
        for text in ("Which animals eat grass?", "Wo leben die Giraffen?")
        for mode in Mode
        for rerank in (False, True)
    ]
    expected = [search(caller, **kind) for kind in kinds]
    settings.RAG_DATABASE_REPLICAS = addresses
    search(caller)  # notes that Redis has positions
    in_sync()
    assert [search(caller, **kind) for kind in kinds] == [
        SearchOutcome(outcome.document_ids, used_replica=True) for outcome in expected
    ]
    assert all(outcome.document_ids for outcome in expected)


def test_a_caller_finds_their_own_changes_at_once(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None]
) -> None:
    """Others find them when the replicas have replayed them, and nobody finds what was deleted."""
    editor, member, source = live_world.users["editor"], live_world.users["member"], live_world.source()
    kept = ingest_text(source, "kept", "animals that are kept").document_id
    deleted = ingest_text(source, "deleted", "animals that are deleted").document_id
    search(Caller(member))
    in_sync()
    for replica in replicas:
        replica.pause()
    assert search(Caller(member)) == SearchOutcome({kept, deleted}, used_replica=True)
    assert deleted
    Document.objects.filter(pk=deleted).update(deleted_at=timezone.now())
    # The deleted chunk is missed, so the primary is asked as well.
    assert search(Caller(member)) == SearchOutcome({kept}, used_replica=True)
    with web_process(), identity.run_as(Caller(editor).database_identity):
        routing.start_request()
        routing.end_request()  # any request that is not a search
    assert search(Caller(editor)) == SearchOutcome({kept}, used_replica=False)
    assert search(Caller(member)) == SearchOutcome({kept}, used_replica=True)
    for replica in replicas:
        replica.resume()
    in_sync()
    assert search(Caller(editor)) == SearchOutcome({kept}, used_replica=True)


def test_words_are_counted_on_a_replica_that_is_behind(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None]
) -> None:
    """The replica counts its own chunks. Deletions and lost rights count as soon as the primary has them."""
    member, source = Caller(live_world.users["member"]), live_world.source()
    kept, purged = (ingest_text(source, name, f"animals that are {name}").document_id for name in ("kept", "purged"))
    search(member)
    in_sync()
    for replica in replicas:
        replica.pause()
    assert purged
    provider_factory.chunk_store().delete_document_chunks([purged], limit=10)
    assert search(member, "purged animals", mode=Mode.LEXICAL) == SearchOutcome({kept}, used_replica=True)
    DataSource.objects.update(visibility=Visibility.PRIVATE)
    assert search(member, "purged animals", mode=Mode.LEXICAL) == SearchOutcome(set(), used_replica=False)


def test_what_was_ingested_is_found_by_everybody(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None]
) -> None:
    """The client that searches need not be the one that waited for the job. Other organisations do not wait."""
    member, foreigner = Caller(live_world.users["member"]), Caller(live_world.users["foreigner"])
    source, foreign = live_world.source(), live_world.source("foreign", organization=live_world.abroad)
    old = ingest_text(foreign, "old", "animals of old").document_id
    search(member)
    in_sync()
    replicas[0].pause()
    replicas[1].pause()
    new = ingest_text(source, "new", "new animals").document_id
    assert search(member) == SearchOutcome({new}, used_replica=False)
    assert search(foreigner) == SearchOutcome({old}, used_replica=True)
    replicas[1].resume()
    in_sync(replicas[1:])
    assert search(member) == SearchOutcome({new}, used_replica=True)


def test_replicas_that_are_too_far_behind_are_left_out(
    live_world: World,
    replicas: list[Replica],
    in_sync: Callable[..., None],
    settings: Any,
    eventually: Callable[..., Any],
) -> None:
    member = Caller(live_world.users["member"])
    live_world.source()
    search(member)
    in_sync()
    for replica in replicas:
        replica.pause()
    assert search(member) == SearchOutcome(set(), used_replica=True)
    DataSource.objects.update(description="anything that decides nothing")
    assert search(member) == SearchOutcome(set(), used_replica=True)
    settings.RAG_REPLICA_MAX_LAG_SECONDS = 0.0
    assert search(member) == SearchOutcome(set(), used_replica=False)
    settings.RAG_REPLICA_MAX_LAG_SECONDS = 0.2
    eventually(lambda: search(member) == SearchOutcome(set(), used_replica=False))
    replicas[0].resume()
    eventually(lambda: search(member) == SearchOutcome(set(), used_replica=True))


def test_after_redis_has_lost_its_data_searches_wait_for_all_changes(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], settings: Any
) -> None:
    """Without Redis, all searches use the primary."""
    member = Caller(live_world.users["member"])
    source = live_world.source()
    search(member)
    in_sync()
    for replica in replicas:
        replica.pause()
    new = ingest_text(source, "new", "new animals").document_id
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        client.delete(positions.redis_key())
    assert search(member) == SearchOutcome({new}, used_replica=False)
    assert search(member) == SearchOutcome({new}, used_replica=False)
    replicas[0].resume()
    in_sync(replicas[:1])
    assert search(member) == SearchOutcome({new}, used_replica=True)
    settings.REDIS_URL = "redis://127.0.0.1:1"
    assert search(member) == SearchOutcome({new}, used_replica=False)


def test_what_was_changed_while_redis_was_down_is_waited_for_by_everybody(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Nothing notes whom the change concerns, so all searches use the primary until a replica has replayed it."""
    monkeypatch.setattr(positions, "_PAUSE_SECONDS", 0.0)
    editor, member = Caller(live_world.users["editor"]), Caller(live_world.users["member"])
    live_world.source()
    search(member)
    in_sync()
    for replica in replicas:
        replica.pause()
    settings.REDIS_URL, redis_url = "redis://127.0.0.1:1", settings.REDIS_URL
    DataSource.objects.update(description="anything that decides nothing")
    with web_process(), identity.run_as(editor.database_identity):
        routing.start_request()
        routing.end_request()
    settings.REDIS_URL = redis_url
    assert search(member) == SearchOutcome(set(), used_replica=False)
    for replica in replicas:
        replica.resume()
    in_sync()
    assert search(member) == SearchOutcome(set(), used_replica=True)


@pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed")
def test_replicas_behind_pgbouncer(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], start: Callable[..., int], settings: Any
) -> None:
    member, owner = Caller(live_world.users["member"]), Caller(live_world.users["owner"])
    document = ingest_text(live_world.source(), "zebra", "animals").document_id
    personal = live_world.source("personal", visibility=Visibility.PERSONAL)
    diary = ingest_text(personal, "diary", "animals of the owner").document_id
    names = {f"replica{number}": replica.address["HOST"] for number, replica in enumerate(replicas)}
    port = start(replicas=names)
    settings.RAG_DATABASE_REPLICAS = [{"HOST": "127.0.0.1", "PORT": port, "NAME": name} for name in names]
    search(member)
    in_sync()
    with web_process():
        for _ in range(4):
            assert search_again(member) == SearchOutcome({document}, used_replica=True)
            assert search_again(owner) == SearchOutcome({document, diary}, used_replica=True)
        checks.require_safe_roles()
        settings.RAG_DATABASE_REPLICAS = [replicas[1].address]  # which nothing resets after a transaction
        with pytest.raises(checks.RoleError, match="server_reset_query_always"):
            checks.require_safe_roles()


def test_requests_note_what_they_have_shown(
    live_world: World, replicas: list[Replica], in_sync: Callable[..., None], settings: Any
) -> None:
    """A client that has waited for its document finds it: on the primary, for as long as the replicas lag."""
    source = live_world.source()
    headers = {"X-API-Key": live_world.key("editor").secret}
    client = Client(headers=headers)

    def find_texts() -> list[str]:
        reply = client.post("/api/rag/retrieve", {"query": "animals"}, content_type="application/json")
        if reply.status_code == 404:
            assert reply.json()["error"] == "NO_RESULTS"
            return []
        return [passage["text"] for passage in reply.json()["documents"]]

    search(Caller(live_world.users["editor"]))
    in_sync()
    for replica in replicas:
        replica.pause()
    measurement_buffer.take()
    with web_process():
        assert (find_texts(), find_texts()) == ([], [])  # a search notes nothing
        assert used_replica()
        submission = {"dataSourceId": source.slug, "documents": [{"path": "zebra", "text": "Zebras are animals."}]}
        reply = client.post("/api/rag/ingest", submission, content_type="application/json")
        assert reply.status_code == 202, reply.json()
        job = reply.json()["jobId"]
    process_queue()
    with redis.Redis.from_url(settings.REDIS_URL) as positions_client:
        positions_client.zrem(positions.redis_key(), f"organization:{live_world.home.pk}")
    with web_process():
        assert client.get(f"/api/rag/ingest/{job}").json()["status"] == "completed"
        assert find_texts() == ["Zebras are animals."]
        assert not used_replica()
