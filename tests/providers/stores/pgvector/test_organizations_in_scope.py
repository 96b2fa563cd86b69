"""A scope that names an organisation finds the same as one that lists its public sources, with exact statistics."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction

from orgs.access.caller import Caller
from rag.models import DataSource, Document
from rag.models.content.pgvector_tables import OrganizationConfig, OrganizationTerm, SourceConfig, SourceTerm
from rag.models.grants import AccessList
from rag.pipeline.embed_question import embed_question
from rag.providers import provider_factory
from rag.providers.stores.pgvector.store import PgVectorStore
from rag.providers.stores.search_types import ScopeQuery
from rag.types import Filters, Mode, SearchScope
from ragsite.postgres import identity
from tests.support.factories import World, ingest_text

Eventually = Callable[..., Any]

TEXTS = ("zebras run", "a lion runs", "der Löwe läuft", "the wolf sleeps", "zebra and lion")
VISIBILITIES = ("public", "private", "personal")


def totals() -> dict[str, Counter[tuple[Any, ...]]]:
    result = {"term": Counter[tuple[Any, ...]](), "config": Counter[tuple[Any, ...]]()}
    for kind, model in (("term", OrganizationTerm), ("config", OrganizationConfig)):
        for *key, count in model._default_manager.values_list("organization", "access_list", kind, "chunks"):
            result[kind][tuple(key)] += count
    return result


def sums() -> dict[str, Counter[tuple[Any, ...]]]:
    """What `totals` should be."""
    sources = {source.pk: source for source in DataSource.objects.filter(deleted_at=None)}
    result = {"term": Counter[tuple[Any, ...]](), "config": Counter[tuple[Any, ...]]()}
    for kind, model in (("term", SourceTerm), ("config", SourceConfig)):
        for source_id, value, count in model.objects.filter(chunks__gt=0).values_list("source", kind, "chunks"):
            if source := sources.get(source_id):
                result[kind][source.organization_id, source.access_list_id, value] += count
    return result


def test_the_totals_of_organizations_are_exact(world: World) -> None:
    generator = random.Random(7)
    store = provider_factory.chunk_store()
    for number in range(6):
        world.source(f"source-{number}", visibility=generator.choice(VISIBILITIES))
    world.source("foreign", organization=world.abroad)
    for step in range(40):
        source = generator.choice(list(DataSource.objects.filter(deleted_at=None).order_by("pk")))
        match generator.choice(("write", "write", "write", "change", "delete document", "delete source", "repair")):
            case "write":
                ingest_text(source, f"path-{generator.randint(0, 3)}", generator.choice(TEXTS), lang="en")
            case "change":
                DataSource.objects.filter(pk=source.pk).update(visibility=generator.choice(VISIBILITIES))
            case "delete document":
                documents = list(Document.objects.filter(source=source).values_list("pk", flat=True)[:1])
                store.delete_document_chunks(documents, limit=100)
            case "delete source" if DataSource.objects.filter(deleted_at=None).count() > 3:
                DataSource.objects.filter(pk=source.pk).update(deleted_at=source.created_at)
                if generator.random() < 0.5:
                    store.delete_source_chunks(source.pk, limit=100)
            case "repair":
                SourceTerm.objects.filter(source=source).update(chunks=3)
                store.repair_statistics(source.pk)
        assert totals() == sums(), step
    assert totals()["term"]


def _is_a_lock_awaited() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND locktype = 'advisory' "
            "AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))"
        )
        return bool(cursor.fetchone()[0])


def _hide(source: DataSource) -> None:
    with identity.run_as(identity.WORKER):
        DataSource.objects.filter(pk=source.pk).update(visibility="private")
    connection.close()


def test_a_source_that_becomes_private_takes_unfinished_writes_along(live_world: World, eventually: Eventually) -> None:
    source = live_world.source()
    ingest_text(source, "a", "zebra")
    thread = threading.Thread(target=_hide, args=[source])
    with transaction.atomic():
        ingest_text(source, "b", "zebra and lion")
        thread.start()
        eventually(_is_a_lock_awaited)
    thread.join()
    assert totals() == sums()
    lists = {access_list for _, access_list, _ in totals()["term"]}
    assert [*AccessList.objects.filter(pk__in=lists).values_list("visibility", flat=True)] == ["private"]


def search(scope: SearchScope, text: str, mode: Mode, *, exact_limit: int, member: Caller) -> list[Any]:
    vector = embed_question(text, model=DataSource.objects.earliest("pk").embedding_model)
    with identity.run_as(member.database_identity):
        return PgVectorStore(exact_limit=exact_limit).search(text, [ScopeQuery(scope, vector)], mode=mode, limit=20)


@pytest.mark.parametrize("exact_limit", [20_000, 0])
@pytest.mark.parametrize("filters", [Filters(), Filters(tags=("b",)), Filters(langs=("en",), source_types=("doc",))])
def test_naming_the_organization_finds_the_same(world: World, exact_limit: int, filters: Filters) -> None:
    sources = [world.source(f"source-{number}", visibility=VISIBILITIES[number % 3]) for number in range(7)]
    sources += [world.source("foreign", organization=world.abroad), world.source("deleted")]
    for number, source in enumerate(sources):
        ingest_text(source, "a", TEXTS[number % len(TEXTS)], lang="en", tags=("a",))
        ingest_text(source, "b", f"{TEXTS[(number + 1) % len(TEXTS)]} again", lang="en", tags=("b",))
    DataSource.objects.filter(slug="deleted").update(deleted_at=sources[0].created_at)
    model_id = sources[0].embedding_model_id
    hidden = [source.pk for source in sources if source.visibility != "public"]
    public = [source.pk for source in sources if source.visibility == "public" and source.slug[:6] == "source"]
    member = Caller(world.users["member"])
    listed = SearchScope(tuple(public), model_id, filters)
    # Neither the hidden sources, nor the organisation of others, nor a repeated source may change the result.
    named = SearchScope((*hidden, public[0]), model_id, filters, (world.home.pk, world.abroad.pk))
    for mode in Mode:
        expected = search(listed, "zebra lion", mode, exact_limit=exact_limit, member=member)
        assert search(named, "zebra lion", mode, exact_limit=exact_limit, member=member) == expected
        assert expected[0].chunks


def _document_scans() -> int:
    """How often this transaction has scanned the table of documents or one of its indexes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT seq_scan + coalesce(idx_scan, 0) FROM pg_stat_xact_user_tables WHERE relname = 'rag_document'"
        )
        return int(cursor.fetchone()[0])


def test_documents_that_meet_a_filter_are_not_read_again_for_each_match(world: World) -> None:
    source, member = world.source(), Caller(world.users["member"])
    for number in range(50):
        tag = "wanted" if number % 2 else "other"
        ingest_text(source, str(number), f"lion {number}", lang="en", tags=(tag,))
    scope = SearchScope((), source.embedding_model_id, Filters(tags=("wanted",)), (world.home.pk,))
    (expected,) = search(scope, "lion", Mode.LEXICAL, exact_limit=1000, member=member)
    before = _document_scans()
    (candidates,) = search(scope, "lion", Mode.LEXICAL, exact_limit=0, member=member)
    assert len(candidates.lexical_ids) == 20
    assert candidates.lexical_ids == expected.lexical_ids
    assert _document_scans() - before < 10
