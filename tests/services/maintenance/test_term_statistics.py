"""The statistics of words are the sums of what the chunks' rows say, and are set right where they are not."""

from io import StringIO

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command

from rag.models import SourceConfig, SourceTerm
from rag.providers.stores.pgvector import term_statistics
from rag.services.maintenance import term_statistics as check
from tests.support.factories import World, ingest_text


def counts() -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = [*SourceTerm.objects.order_by("pk").values_list("source", "term", "chunks")]
    return [*found, *SourceConfig.objects.order_by("pk").values_list("source", "config", "chunks")]


def test_counts_are_checked_and_repaired(world: World) -> None:
    """One that is wrong, one that is missing, one that nothing stands behind, source by source."""
    one, other = world.source(), world.source("other")
    ingest_text(one, "a", "Zebras run and lions sleep.")
    ingest_text(other, "a", "Lions.")
    SourceConfig.objects.create(source=other, config="german", chunks=0)
    right = counts()
    call_command("check_term_statistics", stdout=(out := StringIO()))
    assert out.getvalue() == "The statistics of words are what the chunks say.\n"
    zebra, lion, *_ = SourceTerm.objects.filter(source=one)
    SourceTerm.objects.filter(pk=zebra.pk).update(chunks=7)
    SourceTerm.objects.filter(pk=lion.pk).delete()
    SourceTerm.objects.create(source=one, term=1, chunks=1)
    SourceConfig.objects.filter(source=one).update(chunks=9)
    with pytest.raises(CommandError, match="differ: 1"):
        call_command("check_term_statistics", stdout=(out := StringIO()))
    assert out.getvalue() == f"{one.slug} ({one.pk}): 4 counts differ\n"
    call_command("check_term_statistics", "--repair", stdout=StringIO())
    assert counts() == right


def test_a_night_goes_on_where_the_last_one_stopped(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.delete(check._LAST)
    sources = [world.source(name).pk for name in ("one", "two")]
    checked: list[object] = []

    def differing(key: object) -> int:
        checked.append(key)
        return 0

    monkeypatch.setattr(term_statistics, "differing", differing)
    for _ in range(3):
        check.check_some(seconds=-1)
    check.check_some()
    assert checked == [sources[0], sources[1], sources[0], sources[1], sources[0]]
