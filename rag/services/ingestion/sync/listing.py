"""First phase of a sync: lists the location page by page, and stores each page together with the cursor after it."""

import time
from fnmatch import fnmatchcase

from django.conf import settings
from django.db import transaction
from django.db.models import F

from rag.models import SyncItem, SyncRun
from rag.providers import provider_factory
from rag.providers.connectors.base import ListingFailed, Page

from . import runs

# How many items may be left out for each one that a sync may have.
_MAX_SKIPPED_PER_ITEM = 20


def list_items(run: SyncRun, deadline: float) -> bool:
    """List the items of the location. Nothing is removed before the listing is complete.

    Returns:
        Whether there is more to do now.

    Raises:
        ListingFailed: If a part cannot be listed, or there are too many items.
    """
    connector = provider_factory.connector(run.connection)
    patterns = run.connection.patterns.split()
    for page in connector.list_pages(run.cursor):
        _store(run, page, patterns)
        if not page.is_last and (time.monotonic() > deadline or runs.must_leave(run)):
            return True
    count = SyncItem.objects.filter(connection=run.connection_id, seen_in=run.pk).count()
    runs.update(run, phase=SyncRun.Phase.SENDING, listed=count, cursor=None)
    return True


@transaction.atomic
def _store(run: SyncRun, page: Page, patterns: list[str]) -> None:
    """Store the items of the page that match a pattern, and where the listing continues."""
    versions = {
        item.path: item.version
        for item in page.items
        if not patterns or any(fnmatchcase(item.path, pattern) for pattern in patterns)
    }
    SyncItem.objects.bulk_create(
        [
            SyncItem(connection_id=run.connection_id, path=path, listed_version=version[:300], seen_in=run.pk)
            for path, version in sorted(versions.items())
        ],
        update_conflicts=True,
        unique_fields=["connection", "path"],
        update_fields=["listed_version", "seen_in"],
        batch_size=1_000,
    )
    skipped = page.skipped + len(page.items) - len(versions)
    runs.update(run, cursor=page.cursor, listed=F("listed") + len(versions), skipped=F("skipped") + skipped)
    if run.listed > settings.RAG_SYNC_MAX_ITEMS:
        raise ListingFailed(
            f"There are more than {settings.RAG_SYNC_MAX_ITEMS:,} items. Divide them among several data sources, "
            "each with a part of the location."
        )
    if run.skipped > (maximum := _MAX_SKIPPED_PER_ITEM * settings.RAG_SYNC_MAX_ITEMS):
        raise ListingFailed(
            f"More than {maximum:,} items match no pattern or cannot be fetched. Choose a narrower location."
        )
