"""How many bytes a user's history may have, within the quotas of the user's organisations."""

import uuid
from collections.abc import Iterable

from django.conf import settings
from django.db.models import Sum
from django.db.models.functions import Coalesce

from accounts.models import User
from orgs.models import Membership
from rag.models import HistoryUsage, Usage
from ragsite.postgres import identity


def max_history_bytes(user: User, usage: HistoryUsage, organization_ids: Iterable[uuid.UUID]) -> int:
    """Return how many bytes the user's history may have now.

    If an organisation's quota is full, the limit is the history's current size: each new row then replaces the oldest
    ones.
    """
    limit: int = settings.RAG_MAX_HISTORY_BYTES
    for organization_id in organization_ids:
        membership = Membership.objects.filter(organization=organization_id)
        max_bytes = membership.values_list("organization__max_bytes", flat=True).first() or 0
        document_bytes = Usage.objects.filter(pk=organization_id).values_list("bytes", flat=True).first() or 0
        members = membership.exclude(user=user.pk).values("user")
        with identity.run_as(identity.STAFF):  # a user sees no other user's counter
            histories = HistoryUsage.objects.filter(user__in=members)
            other_history_bytes = histories.aggregate(bytes=Coalesce(Sum("bytes"), 0))["bytes"]
        limit = min(limit, max(max_bytes - document_bytes - other_history_bytes, usage.bytes))
    return limit
