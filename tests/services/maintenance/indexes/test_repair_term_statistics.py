"""Term statistics are the sums over the terms of chunks; wrong ones are found and repaired."""

import uuid
from io import StringIO

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from structlog.testing import capture_logs

from rag.models.content.pgvector_tables import OrganizationConfig, OrganizationTerm, SourceConfig, SourceTerm
from rag.providers.stores.pgvector.store import PgVectorStore
from rag.services.maintenance.indexes import repair_term_statistics
from tests.support.factories import World, ingest_text


def statistics() -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = [*SourceTerm.objects.order_by("pk").values_list("source", "term", "chunks")]
    return [*rows, *SourceConfig.objects.order_by("pk").values_list("source", "config", "chunks")]


def test_wrong_statistics_are_found_and_repaired(world: World) -> None:
    """Wrong counts, missing counts, and counts of terms that no chunk has. Only the source with errors is repaired."""
    source, other = world.source(), world.source("other")
    ingest_text(source, "a", "Zebras run and lions sleep.")
    ingest_text(other, "a", "Lions.")
    SourceConfig.objects.create(source=other, config="german", chunks=0)
    correct = statistics()
    call_command("check_term_statistics", stdout=(out := StringIO()))
    assert out.getvalue() == "The term statistics of all sources are correct.\n"
    zebra, lion, *_ = SourceTerm.objects.filter(source=source)
    SourceTerm.objects.filter(pk=zebra.pk).update(chunks=7)
    SourceTerm.objects.filter(pk=lion.pk).delete()
    SourceTerm.objects.create(source=source, term=1, chunks=1)
    SourceConfig.objects.filter(source=source).update(chunks=9)
    with pytest.raises(CommandError, match="statistics differ: 1"):
        call_command("check_term_statistics", stdout=(out := StringIO()))
    assert out.getvalue() == f"{source.slug} ({source.pk}): 4 counts differ\n"
    call_command("check_term_statistics", "--repair", stdout=StringIO())
    assert statistics() == correct


def test_wrong_totals_of_an_organization_are_found_and_repaired(world: World) -> None:
    """Wrong, missing and superfluous totals, of the right organisation."""
    ingest_text(world.source(), "a", "Zebras run and lions sleep.")
    ingest_text(world.source("foreign", organization=world.abroad), "a", "Lions.")
    correct = totals()
    zebra, lion, *_ = OrganizationTerm.objects.filter(organization=world.home)
    OrganizationTerm.objects.filter(pk=zebra.pk).update(chunks=7)
    OrganizationTerm.objects.filter(pk=lion.pk).delete()
    OrganizationTerm.objects.create(organization=world.home, access_list_id=uuid.uuid4(), term=1, chunks=1)
    OrganizationConfig.objects.filter(organization=world.home).update(chunks=9)
    with pytest.raises(CommandError, match="differ: 0, organisations whose totals differ: 1"):
        call_command("check_term_statistics", stdout=(out := StringIO()))
    assert out.getvalue() == f"Organisation {world.home.pk}: 4 totals differ\n"
    cache.delete(repair_term_statistics._LAST_SOURCE_KEY)
    with capture_logs() as logs:
        repair_term_statistics.check_in_turn()
    assert [(log["event"], log["organization"]) for log in logs] == [("term_totals_differ", str(world.home.pk))]
    call_command("check_term_statistics", "--repair", stdout=StringIO())
    assert totals() == correct


def totals() -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = [
        *OrganizationTerm.objects.order_by("pk").values_list("organization", "access_list", "term", "chunks")
    ]
    return [*rows, *OrganizationConfig.objects.order_by("pk").values_list("organization", "access_list", "chunks")]


def test_a_check_continues_after_the_source_that_was_checked_last(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.delete(repair_term_statistics._LAST_SOURCE_KEY)
    sources = [world.source(name).pk for name in ("one", "two")]
    checked: list[object] = []

    def count_wrong_statistics(store: PgVectorStore, source_id: object) -> int:
        checked.append(source_id)
        return 0

    monkeypatch.setattr(PgVectorStore, "count_wrong_statistics", count_wrong_statistics)
    with monkeypatch.context() as patch:
        patch.setattr(repair_term_statistics, "MAX_CHECK_SECONDS", -1)
        for _ in range(3):
            repair_term_statistics.check_in_turn()
    repair_term_statistics.check_in_turn()
    assert checked == [sources[0], sources[1], sources[0], sources[1], sources[0]]
