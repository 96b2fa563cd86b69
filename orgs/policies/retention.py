"""Retention of searches and conversations, which the organisations of their user decide."""

import datetime
import uuid
from dataclasses import dataclass
from typing import NamedTuple

from django.conf import settings
from django.utils import timezone

from accounts.models import User
from orgs.access.permissions import QueryHistory
from orgs.models import AnyUser, Membership, Organization
from ragsite.postgres.base import read_rows

_STRICTNESS = list(QueryHistory)
# Composing this statement with Django takes longer than executing it, and each stored search needs it.
_READ = (
    "SELECT organization.id, organization.query_history, organization.history_days, organization.max_bytes, "
    "account.is_active AND membership.is_active AND organization.is_active "
    f"FROM {Membership._meta.db_table} AS membership "
    f"JOIN {Organization._meta.db_table} AS organization ON organization.id = membership.organization_id "
    f"JOIN {User._meta.db_table} AS account ON account.id = membership.user_id WHERE account.id = %s"
)


class _MembershipRow(NamedTuple):
    """A row of the statement above. A membership is active if its user and its organisation are, too."""

    organization_id: uuid.UUID
    history: str
    days: int | None
    max_bytes: int | None
    is_active: bool


@dataclass(frozen=True, slots=True)
class Retention:
    """What is kept of a user's searches and conversations.

    Attributes:
        days: How long they are kept; None for no limit.
        limited_organizations: Active organisations of the user with a limit of bytes, which histories count towards.
    """

    history: QueryHistory
    days: int | None
    limited_organizations: tuple[uuid.UUID, ...]

    @property
    def cutoff(self) -> datetime.datetime | None:
        """Older searches and conversations are deleted; None if they are kept without limit."""
        return timezone.now() - datetime.timedelta(days=self.days) if self.days else None


def retention_for(user: AnyUser) -> Retention:
    """Return the strictest history setting and the shortest period of the user's active organisations.

    Without an active organisation those that the user belonged to decide; without any, the platform's defaults.
    """
    rows = [_MembershipRow(*row) for row in read_rows(_READ, [user.pk])] if user.pk else []
    active = [row for row in rows if row.is_active]
    deciding = active or rows
    periods = [row.days or settings.RAG_HISTORY_RETENTION_DAYS for row in deciding]
    limited_days = [days for days in periods or [settings.RAG_HISTORY_RETENTION_DAYS] if days]
    histories = [QueryHistory(row.history) for row in deciding]
    return Retention(
        history=max(histories, key=_STRICTNESS.index, default=QueryHistory.FULL),
        days=min(limited_days, default=None),
        limited_organizations=tuple(row.organization_id for row in active if row.max_bytes is not None),
    )
