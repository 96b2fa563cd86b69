"""Whether the statistics of words are what the chunks' rows say."""

import time
import uuid
from dataclasses import dataclass

import structlog
from django.core.cache import cache
from django.db import transaction

from rag.models import DataSource
from rag.providers.stores.pgvector import term_statistics, terms

logger = structlog.get_logger(__name__)

# Where the night's check stopped: so the next one goes on there, and all sources have their turn.
_LAST, _REMEMBERED = "words/checked", 30 * 24 * 3600
NIGHT_SECONDS = 600


@dataclass(frozen=True, slots=True)
class Difference:
    """counts: how many of the source's are wrong."""

    source_id: uuid.UUID
    slug: str
    counts: int


def check(source_id: uuid.UUID | None = None) -> list[Difference]:
    """The sources, or the one, whose statistics are wrong; each is a line in the log. Right while others write."""
    sources = DataSource.objects.filter(deleted_at=None, **({"pk": source_id} if source_id else {}))
    found = [
        Difference(key, slug, counts)
        for key, slug in sources.order_by("pk").values_list("pk", "slug")
        if (counts := term_statistics.differing(key))
    ]
    for each in found:
        logger.error("word_counts_differ", source=str(each.source_id), slug=each.slug, counts=each.counts)
    return found


def check_some(seconds: float = NIGHT_SECONDS) -> None:
    """As many sources as there is time for, beginning behind those of the last time."""
    end = time.monotonic() + seconds
    keys = list(DataSource.objects.filter(deleted_at=None).order_by("pk").values_list("pk", flat=True))
    last = cache.get(_LAST)
    behind = [key for key in keys if not last or str(key) > last]
    for key in [*behind, *keys[: len(keys) - len(behind)]]:
        check(key)
        cache.set(_LAST, str(key), _REMEMBERED)
        if time.monotonic() > end:
            return


@transaction.atomic
def repair(source_id: uuid.UUID) -> None:
    """Set the counts right. Writers of the source wait with their commit meanwhile."""
    terms.take_turn(source_id)
    term_statistics.set_right(source_id)
