"""What the models of all apps share: time-ordered identifiers, the clock of all hosts, what the database can store."""

import datetime
import re
import secrets
import uuid

import uuid_utils.compat
from django.db import connection, models

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_COUNTER_BITS, _RANDOM_BITS = 20, 42
_NOT_STORABLE = re.compile(r"[\0\ud800-\udfff]")


def uuid7() -> uuid.UUID:
    """Return a UUIDv7 (RFC 9562). It starts with a timestamp in milliseconds: new rows go to the end of the index."""
    return uuid_utils.compat.uuid7()


def database_now() -> datetime.datetime:
    """Return the time of the database at this moment, even in the middle of a transaction.

    All hosts share this clock, and their own ones differ. It decides when a lease ends and which of two submissions is
    the later one. Times that only people read do not need it.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        now: datetime.datetime = cursor.fetchone()[0]
    return now


def new_revisions(count: int) -> list[uuid.UUID]:
    """Return this many UUIDv7, in order, each larger than those of submissions that any host received earlier.

    Microseconds and a counter follow the milliseconds (RFC 9562, section 6.2, methods 3 and 1).
    """
    microseconds = (database_now() - _EPOCH) // datetime.timedelta(microseconds=1)
    milliseconds, rest = divmod(microseconds, 1000)
    beginning = milliseconds << 80 | 0x7 << 76 | (rest * 4096 // 1000) << 64 | 0b10 << 62
    return [
        uuid.UUID(int=beginning | number % 2**_COUNTER_BITS << _RANDOM_BITS | secrets.randbits(_RANDOM_BITS))
        for number in range(count)
    ]


def new_revision() -> uuid.UUID:
    """Return a UUIDv7 that is larger than those of submissions that any host received earlier."""
    return new_revisions(1)[0]


def as_uuid(text: str) -> uuid.UUID | None:
    """Parse an identifier from a request; None if it is not a UUID."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


def is_storable(text: str) -> bool:
    """Return whether the database can store the text: it has neither NUL nor half of a pair of surrogates."""
    return not _NOT_STORABLE.search(text)


class UUIDModel(models.Model):
    """A model whose primary key is its public identifier."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)

    class Meta:
        abstract = True
