"""Deletes searches, conversations and unanswered questions after the retention period of the users' organisations."""

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import User
from orgs.access.permissions import QueryHistory
from orgs.policies.retention import retention_for
from rag.models import Conversation, SearchRecord, UnansweredQuestion
from rag.services.queries.history import history_writer

logger = structlog.get_logger(__name__)

# How many rows one transaction deletes or redacts.
_BATCH_SIZE = 1_000


def delete_expired_history() -> None:
    """Delete or redact the history that the current policies do not keep. If interrupted, the next night continues."""
    has_searches, has_conversations, has_unanswered = (
        Exists(model._default_manager.filter(user=OuterRef("pk")))
        for model in (SearchRecord, Conversation, UnansweredQuestion)
    )
    deleted = 0
    users = User.objects.filter(has_searches | has_conversations | has_unanswered).order_by("pk")
    for user in users.iterator(chunk_size=_BATCH_SIZE):
        deleted += _apply_retention(user)
    logger.info("history_deleted", rows=deleted)


def _apply_retention(user: User) -> int:
    """Apply the policy to the history of one user, and return the number of deleted rows."""
    retention = retention_for(user)
    searches, conversations = SearchRecord.objects.filter(user=user), Conversation.objects.filter(user=user)
    unanswered = UnansweredQuestion.objects.filter(user=user)
    if retention.history == QueryHistory.REDACTED:
        _redact(searches)
    if retention.cutoff:
        old_searches = searches.filter(created_at__lt=retention.cutoff)
        old_conversations = conversations.filter(updated_at__lt=retention.cutoff)
        old_unanswered = unanswered.filter(created_at__lt=retention.cutoff)
    else:
        old_searches, old_conversations, old_unanswered = searches.none(), conversations.none(), unanswered.none()
    deleted = _delete(searches if retention.history == QueryHistory.NONE else old_searches)
    deleted += _delete(old_conversations if retention.history == QueryHistory.FULL else conversations)
    deleted += _delete(old_unanswered if retention.history == QueryHistory.FULL else unanswered)
    history_writer.recount(user)
    return deleted


def _delete(records: QuerySet[SearchRecord] | QuerySet[Conversation] | QuerySet[UnansweredQuestion]) -> int:
    deleted = 0
    while batch := list(records.order_by("pk").values_list("pk", flat=True)[:_BATCH_SIZE]):
        with transaction.atomic():
            records.model._default_manager.filter(pk__in=batch).delete()
        deleted += len(batch)
    return deleted


def _redact(searches: QuerySet[SearchRecord]) -> None:
    unredacted = searches.exclude(text="").order_by("pk").values_list("pk", flat=True)
    while batch := list(unredacted[:_BATCH_SIZE]):
        SearchRecord.objects.filter(pk__in=batch).update(text="")
