"""Whether somebody may go on: access is asked anew while an answer is on its way (docs/decisions/0036-access-rechecks.md)."""

import time
from collections.abc import Collection
from contextlib import closing
from uuid import UUID

from accounts.models import User
from orgs.access.caller import Caller
from orgs.models import ApiKey
from rag.errors import AccessEnded
from rag.models import Action, DataSource
from rag.types import AnswerEvents, Result, Retrieval

# Seconds. A stream that goes on for less than this is one request, and was let in as such.
EVERY = 1.0


def require(caller: Caller, source_ids: Collection[UUID]) -> None:
    """Raises AccessEnded unless the credential still counts and its user may still query all of the sources."""
    if caller.key is not None:
        counts = ApiKey.objects.usable().filter(pk=caller.key.pk).exists()
    else:
        counts = User.objects.filter(pk=caller.user.pk, is_active=True).exists()
    if not counts:
        raise AccessEnded
    if source_ids:
        still_open = DataSource.objects.visible_to(caller, Action.QUERY).filter(pk__in=source_ids)
        if still_open.count() < len(set(source_ids)):
            raise AccessEnded


def watched(events: AnswerEvents[Result], caller: Caller) -> AnswerEvents[Result]:
    """The same events; about once a second, and before the end, access to what they are made of is asked for again.

    Raises AccessEnded in the place of the next event; the work behind the events ends then.
    """
    used: set[UUID] = set()
    asked = time.monotonic()
    with closing(events):
        while True:
            try:
                event: Retrieval | str | None = next(events)
            except StopIteration as end:
                event, whole = None, end.value
            if isinstance(event, Retrieval):
                used = {passage.source_id for passage in event.passages}
            if time.monotonic() - asked >= EVERY:
                require(caller, used)
                asked = time.monotonic()
            if event is None:
                return whole
            yield event
