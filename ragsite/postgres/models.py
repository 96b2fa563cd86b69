"""What the models of all apps share: time-ordered identifiers, and what the database can store."""

import re
import uuid

import uuid_utils.compat
from django.db import models

_NOT_STORABLE = re.compile(r"[\0\ud800-\udfff]")


def uuid7() -> uuid.UUID:
    """Return a UUIDv7 (RFC 9562). It starts with a timestamp in milliseconds: new rows go to the end of the index."""
    return uuid_utils.compat.uuid7()


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
