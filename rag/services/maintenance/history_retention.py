"""What people asked, forgotten in time: searches and conversations, as their organisations decide
(orgs.policies.retention)."""

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import User
from orgs.access.permissions import QueryHistory
from orgs.policies.retention import retention_for
from rag.models import Conversation, SearchRecord

logger = structlog.get_logger(__name__)

# Rows that one transaction removes or empties.
_BATCH = 1_000


def delete_expired_history() -> None:
    """Remove what is too old, and what would not be kept today. May stop anywhere, and go on the next night."""
    asked = (Exists(model.objects.filter(user=OuterRef("pk"))) for model in (SearchRecord, Conversation))
    searches, conversations = asked
    removed = 0
    for user in User.objects.filter(searches | conversations).order_by("pk").iterator(chunk_size=_BATCH):
        removed += _forget(user)
    logger.info("history_forgotten", rows=removed)


def _forget(user: User) -> int:
    retention = retention_for(user)
    searches, conversations = SearchRecord.objects.filter(user=user), Conversation.objects.filter(user=user)
    if retention.history == QueryHistory.REDACTED:
        _redact(searches)
    if retention.begins:
        old_searches = searches.filter(created_at__lt=retention.begins)
        old_conversations = conversations.filter(updated_at__lt=retention.begins)
    else:
        old_searches, old_conversations = searches.none(), conversations.none()
    removed = _remove(searches if retention.history == QueryHistory.NONE else old_searches)
    return removed + _remove(old_conversations if retention.history == QueryHistory.FULL else conversations)


def _remove(rows: QuerySet) -> int:
    removed = 0
    while batch := list(rows.order_by("pk").values_list("pk", flat=True)[:_BATCH]):
        with transaction.atomic():
            rows.model._default_manager.filter(pk__in=batch).delete()
        removed += len(batch)
    return removed


def _redact(searches: QuerySet[SearchRecord]) -> None:
    told = searches.exclude(text="").order_by("pk").values_list("pk", flat=True)
    while batch := list(told[:_BATCH]):
        SearchRecord.objects.filter(pk__in=batch).update(text="")
