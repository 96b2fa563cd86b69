"""Runs a request with an `Idempotency-Key` once, and returns the stored response for its repetitions.

A row is written before the request runs, so that of two simultaneous requests only one runs. A request that fails
frees its key immediately. If the process or host of a request is lost, the key is free within MAX_RENEWAL_AGE. Whoever
then repeats the request finds what the lost one has created (a slug that is taken, a document that is unchanged).
"""

import contextlib
import datetime
import hashlib
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db import DatabaseError, connection
from django.db.models import F, Q, Sum, Window
from django.db.models.functions import Length, Now
from django.utils import timezone

from orgs.access.caller import Caller
from rag.errors import IdempotencyKeyInUse, IdempotencyKeyReused, UnknownSource
from rag.models import Action, DataSource, IdempotentRequest
from ragsite.postgres import identity
from ragsite.postgres.models import database_now

RETENTION = datetime.timedelta(hours=24)
# A claim that was not renewed for this long is free: its process has ended, or its host was cut off.
MAX_RENEWAL_AGE = datetime.timedelta(seconds=20)
_RENEWAL_SECONDS = 5
MAX_REQUESTS_OF_A_USER = 10_000
# The responses of a user that are not short have at most so many characters together: one of a job whose documents are
# unchanged may have the ids of 10,000 chunks.
MAX_CHARACTERS_OF_A_USER = 20_000_000
_SHORT_RESPONSE_CHARACTERS = 10_000
_BATCH_ROWS = 1_000


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """What a request returned. `body`: JSON. `source_id`: the data source in which something was created."""

    status: int
    body: str
    headers: dict[str, str] = field(default_factory=dict)
    source_id: uuid.UUID | None = None


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to run a request. A row that is claimed again has another id."""

    request_id: uuid.UUID


def claim(caller: Caller, key: str, fingerprint: str) -> Claim | StoredResponse:
    """Claim a request, or return the response of the request with the same key that was answered before.

    Args:
        caller: The caller. Another user, and another API key of the same user, have keys of their own.
        key: The client's key.
        fingerprint: A digest of the request.

    Raises:
        IdempotencyKeyReused: If the key was sent with another request.
        IdempotencyKeyInUse: If the request with this key still runs.
        UnknownSource: If the caller no longer sees the data source of the stored response.
    """
    now = database_now()
    api_key_id = caller.key.pk if caller.key else None
    owned = IdempotentRequest.objects.filter(user=caller.authenticated_user, api_key_id=api_key_id)
    digest = hashlib.sha256(key.encode()).hexdigest()
    is_over = Q(claimed_at__lt=now - RETENTION) | Q(status=None, claimed_at__lt=now - MAX_RENEWAL_AGE)
    owned.filter(is_over, key_hash=digest).delete()
    row, is_new = owned.get_or_create(
        key_hash=digest,
        defaults={
            "user": caller.authenticated_user,
            "api_key_id": api_key_id,
            "fingerprint": fingerprint,
            "claimed_at": now,
        },
    )
    if is_new:
        _delete_oldest(caller)
        return Claim(row.pk)
    return _stored_response(caller, row, fingerprint)


@contextlib.contextmanager
def keep(claim: Claim) -> Iterator[None]:
    """Renew the claim until the block ends, so that a request may take long and a killed one frees its key soon."""
    finished, caller = threading.Event(), identity.current()

    def renew_regularly() -> None:
        while not finished.wait(_RENEWAL_SECONDS):
            with identity.run_as(caller), contextlib.suppress(DatabaseError):
                IdempotentRequest.objects.filter(pk=claim.request_id, status=None).update(claimed_at=Now())
            connection.close()

    thread = threading.Thread(target=renew_regularly, daemon=True)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()


def finish(caller: Caller, claim: Claim, response: StoredResponse) -> None:
    """Store the response of the caller's claimed request. The oldest long ones beyond the maximum are deleted."""
    IdempotentRequest.objects.filter(pk=claim.request_id).update(
        status=response.status, body=response.body, headers=response.headers, source_id=response.source_id
    )
    if len(response.body) > _SHORT_RESPONSE_CHARACTERS:
        _delete_oldest_long(caller)


def release(claim: Claim) -> None:
    """Free the key of a request that created nothing."""
    IdempotentRequest.objects.filter(pk=claim.request_id).delete()


def delete_expired_requests() -> None:
    """Delete what is older than RETENTION."""
    expired = IdempotentRequest.objects.filter(claimed_at__lt=timezone.now() - RETENTION).order_by("claimed_at")
    while ids := list(expired.values_list("pk", flat=True)[:_BATCH_ROWS]):
        IdempotentRequest.objects.filter(pk__in=ids).delete()


def _stored_response(caller: Caller, row: IdempotentRequest, fingerprint: str) -> StoredResponse:
    if row.fingerprint != fingerprint:
        raise IdempotencyKeyReused
    if row.status is None:
        raise IdempotencyKeyInUse
    if not DataSource.objects.visible_to(caller, Action.VIEW).filter(pk__in=[row.source_id]).exists():
        raise UnknownSource
    return StoredResponse(row.status, row.body, row.headers, row.source_id)


def _delete_oldest_long(caller: Caller) -> None:
    size = Length("body")
    long = IdempotentRequest.objects.alias(size=size).filter(
        user=caller.authenticated_user, size__gt=_SHORT_RESPONSE_CHARACTERS
    )
    total = Window(Sum(size), order_by=[F("claimed_at").desc(), F("pk").desc()])
    if ids := list(long.annotate(total=total).filter(total__gt=MAX_CHARACTERS_OF_A_USER).values_list("pk", flat=True)):
        IdempotentRequest.objects.filter(pk__in=ids).delete()


def _delete_oldest(caller: Caller) -> None:
    newest_first = IdempotentRequest.objects.filter(user=caller.authenticated_user).order_by("-claimed_at")
    excess = newest_first.values_list("pk", flat=True)[MAX_REQUESTS_OF_A_USER : MAX_REQUESTS_OF_A_USER + _BATCH_ROWS]
    if ids := list(excess):
        IdempotentRequest.objects.filter(pk__in=ids).delete()
