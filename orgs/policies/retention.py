"""Retention of searches and conversations, which the organisations of their user decide."""

import datetime
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from orgs.access.permissions import QueryHistory
from orgs.models import AnyUser, Membership

_STRICTNESS = list(QueryHistory)


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept of a user's searches and conversations.

    Attributes:
        days: How long they are kept; None for no limit.
    """

    history: QueryHistory
    days: int | None

    @property
    def cutoff(self) -> datetime.datetime | None:
        """Older searches and conversations are deleted; None if they are kept without limit."""
        return timezone.now() - datetime.timedelta(days=self.days) if self.days else None


def retention_for(user: AnyUser) -> Retention:
    """Return the strictest history setting and the shortest period of the user's active organisations.

    Without an active organisation those that the user belonged to decide; without any, the platform's defaults.
    """
    values = ("organization__query_history", "organization__history_days")
    rows = list(Membership.objects.active_for(user).values_list(*values))
    rows = rows or list(Membership.objects.filter(user=user.pk).values_list(*values))
    periods = (days or settings.RAG_HISTORY_RETENTION_DAYS for _, days in rows or [("", None)])
    limited_days = [days for days in periods if days]
    histories = [QueryHistory(history) for history, _ in rows]
    strictest = max(histories, key=_STRICTNESS.index, default=QueryHistory.FULL)
    return Retention(strictest, min(limited_days, default=None))
