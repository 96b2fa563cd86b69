"""Access checks while an answer is generated or streamed (docs/decisions/0036-access-rechecks.md)."""

import time
from collections.abc import Collection, Set
from contextlib import closing
from uuid import UUID

from django.db import transaction

from accounts.models import User
from accounts.oauth import grants
from orgs.access.caller import Caller
from orgs.api_keys import check_key
from rag.errors import AccessEnded
from rag.models import Action, DataSource, Document
from rag.types import AnswerEvents, Result, Retrieval
from ragsite.postgres import identity

# An answer that takes less time is covered by the check that admitted the request.
CHECK_INTERVAL_SECONDS = 1.0


def require_access(caller: Caller, source_ids: Collection[UUID], *, document_ids: Collection[UUID] = ()) -> None:
    """Check that the caller's credential is still usable, and that they may still query the data sources.

    Args:
        caller: The caller, whose permissions apply.
        source_ids: The data sources that the answer uses.
        document_ids: The documents that it uses.

    Raises:
        AccessEnded: If the API key, the OAuth grant, the account or its session is no longer usable, a data source may
            no longer be queried, or a document was deleted.
    """
    with transaction.atomic(), identity.hint_sources(source_ids):  # one transaction, so the identity is set once
        _require_access(caller, source_ids)
        if document_ids and Document.objects.live().filter(pk__in=document_ids).count() < len(set(document_ids)):
            raise AccessEnded


def _require_access(caller: Caller, source_ids: Collection[UUID]) -> None:
    if caller.key is not None:
        is_usable = check_key.is_usable(caller.key)
    else:
        user = caller.authenticated_user
        # A sign-out everywhere and a new password end all tokens and sessions.
        sign_in = {"signed_out_at": user.signed_out_at, "password_digest": user.password_digest}
        is_usable = User.objects.filter(pk=user.pk, is_active=True, **sign_in).exists()
    if not is_usable or (caller.grant and not grants.is_granted(caller.authenticated_user, caller.grant)):
        raise AccessEnded
    if source_ids:
        visible = DataSource.objects.visible_to(caller, Action.QUERY).filter(pk__in=source_ids)
        if visible.count() < len(set(source_ids)):
            raise AccessEnded


def watch_access(
    events: AnswerEvents[Result], caller: Caller, *, repeatable: Set[UUID] = frozenset()
) -> AnswerEvents[Result]:
    """Pass on the events of an answer while its caller keeps access to what it uses.

    Access is checked about once per CHECK_INTERVAL_SECONDS. What took as long is checked again before the result.

    Args:
        events: The answer's events.
        caller: The caller.
        repeatable: Data sources of earlier answers, which this one may repeat. The producer of the events may add some.

    Returns:
        The result of `events`.

    Raises:
        AccessEnded: If the caller has lost access, or a document whose passage it uses was deleted; it is raised
            instead of the next event, and `events` is closed.
    """
    source_ids: set[UUID] = set()
    document_ids: set[UUID] = set()
    started_at = checked_at = time.monotonic()
    result: Result
    with closing(events):
        while True:
            try:
                event: Retrieval | str | None = next(events)
            except StopIteration as end:
                event, result = None, end.value
            if isinstance(event, Retrieval):
                source_ids = {passage.source_id for passage in event.passages}
                document_ids = {passage.document_id for passage in event.passages}
            if time.monotonic() - (started_at if event is None else checked_at) >= CHECK_INTERVAL_SECONDS:
                require_access(caller, source_ids | repeatable, document_ids=document_ids)
                checked_at = time.monotonic()
            if event is None:
                return result
            yield event
