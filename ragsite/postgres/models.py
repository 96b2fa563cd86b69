"""What the models of all apps share: time-ordered identifiers."""

import uuid

import uuid_utils.compat
from django.db import models


def uuid7() -> uuid.UUID:
    """Return a UUIDv7 (RFC 9562). It starts with a timestamp in milliseconds: new rows go to the end of the index."""
    return uuid_utils.compat.uuid7()


def as_uuid(text: str) -> uuid.UUID | None:
    """Parse an identifier from a request; None if it is not a UUID."""
    try:
        return uuid.UUID(text)
    except ValueError:
        return None


class UUIDModel(models.Model):
    """A model whose primary key is its public identifier."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)

    class Meta:
        abstract = True
