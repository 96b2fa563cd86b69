"""A request is wrong, or comes at the wrong time."""

from .base import ErrorKind, RagError, gettext_noop


class InvalidRequest(RagError):
    """A value in the request is wrong.

    Attributes:
        field: The field of the request, by its name in Python.
    """

    kind, code = ErrorKind.INVALID, "INVALID_REQUEST"

    def __init__(self, message: str, *, field: str, **data: object) -> None:
        super().__init__(message, **data)
        self.field = field


class VersionChanged(RagError):
    """The object was changed after the client has read it."""

    kind, code = ErrorKind.OUTDATED, "VERSION_CHANGED"
    default_message = "It was changed in the meantime. Read it again, and repeat the request with its new ETag."


class SlugTaken(RagError):
    """The organisation has a data source of this slug already."""

    kind, code = ErrorKind.CONFLICT, "SLUG_TAKEN"
    field = "slug"
    default_message = "The organisation has a source of this slug already."


class IdempotencyKeyReused(RagError):
    """The client sent the key before, with another request."""

    kind, code = ErrorKind.UNPROCESSABLE, "IDEMPOTENCY_KEY_REUSED"
    default_message = "This Idempotency-Key was sent with another request. Send each new request with a new key."


class IdempotencyKeyInUse(RagError):
    """The request with this key still runs."""

    kind, code = ErrorKind.CONFLICT, "IDEMPOTENCY_KEY_IN_USE"
    default_message = "The request with this Idempotency-Key is still being answered. Send it again in a moment."


class NothingToRetry(RagError):
    """No document of the job can be retried."""

    kind, code = ErrorKind.CONFLICT, "NOTHING_TO_RETRY"


class TooManyLongRequests(RagError):
    """The account has as many long requests in progress as it may, or a slot is not free (rag.providers.limits)."""

    kind, code = ErrorKind.LIMITED, "TOO_MANY_REQUESTS"
    default_message = gettext_noop(
        "Too many of your requests wait for a model or another server, or stream an answer. Try again in a moment."
    )


class TooManyReads(RagError):
    """The account has as many requests that only read in progress as it may (rag.providers.limits.read_limiter)."""

    kind, code = ErrorKind.LIMITED, "TOO_MANY_REQUESTS"
    default_message = gettext_noop("Too many of your requests are in progress. Try again in a moment.")
