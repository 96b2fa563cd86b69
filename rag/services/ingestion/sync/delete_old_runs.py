"""Deletes what old syncs have counted, except of the latest sync of each connection."""

import datetime

from django.db.models import Exists, OuterRef
from django.utils import timezone

from rag.models import SyncRun

RETENTION_DAYS = 30
_BATCH_ROWS = 5_000


def delete_expired_runs() -> None:
    """Delete runs that are older than RETENTION_DAYS and followed by another one."""
    cutoff = timezone.now() - datetime.timedelta(days=RETENTION_DAYS)
    later = SyncRun.objects.filter(connection=OuterRef("connection"), pk__gt=OuterRef("pk"))
    expired = SyncRun.objects.filter(Exists(later), created_at__lt=cutoff).exclude(state__in=SyncRun.OPEN_STATES)
    while ids := list(expired.order_by("created_at").values_list("pk", flat=True)[:_BATCH_ROWS]):
        SyncRun.objects.filter(pk__in=ids).delete()
