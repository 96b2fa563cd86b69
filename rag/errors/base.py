"""The base class of all expected errors, and their kinds."""

import enum


def gettext_noop(message: str) -> str:
    """Mark a message that pages translate. Django's function would load Django in processes that read files."""
    return message


class ErrorKind(enum.Enum):
    """The kinds of errors that responses distinguish."""

    INVALID = "invalid"  # the request is wrong
    FORBIDDEN = "forbidden"  # the caller may see the object, but not do this with it
    NOT_FOUND = "not found"  # the object does not exist for this caller
    TOO_LARGE = "too large"
    UNSUPPORTED = "unsupported"
    UNPROCESSABLE = "unprocessable"
    CONFLICT = "conflict"  # the state of the object does not allow it
    OUTDATED = "outdated"  # the object is no longer in the version that the request names
    FULL = "full"  # a quota is used up
    LIMITED = "limited"  # the caller has too many requests in progress
    UNAVAILABLE = "unavailable"  # a component does not answer; another try may help


class RagError(Exception):
    """The base class of all expected errors.

    Attributes:
        kind: The kind of error.
        code: A stable, machine-readable code.
        default_message: The message of an error whose message is always the same, so that it does not reveal the cause.
        message: A sentence for the caller, without internals and without text of documents.
        data: Details for the caller.
    """

    kind: ErrorKind
    code: str
    default_message = ""

    def __init__(self, message: str = "", **data: object) -> None:
        self.message = message or self.default_message
        super().__init__(self.message)
        self.data = data
