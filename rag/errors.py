"""What can go wrong, without HTTP: each contract decides how a kind looks on the wire."""

import enum
from typing import Any


class Kind(enum.Enum):
    INVALID = "invalid"  # the request is wrong
    FORBIDDEN = "forbidden"  # seen, but not allowed
    NOT_FOUND = "not found"  # does not exist for this caller
    TOO_LARGE = "too large"
    UNSUPPORTED = "unsupported"
    UNPROCESSABLE = "unprocessable"
    UNAVAILABLE = "unavailable"  # something that is needed does not answer; trying again may help


class RagError(Exception):
    """The root. `message` is for the caller: no internals, no document text. `data` is for its details."""

    kind: Kind
    code: str

    def __init__(self, message: str, **data: Any) -> None:
        super().__init__(message)
        self.message = message
        self.data = data


class InvalidRequest(RagError):
    """`field`: the request's field that is wrong, by its name in Python."""

    kind, code = Kind.INVALID, "INVALID_REQUEST"

    def __init__(self, message: str, *, field: str, **data: Any) -> None:
        super().__init__(message, **data)
        self.field = field


class UnknownSource(RagError):
    kind, code = Kind.NOT_FOUND, "SOURCE_NOT_FOUND"


class UnknownJob(RagError):
    kind, code = Kind.NOT_FOUND, "JOB_NOT_FOUND"


class NotAllowed(RagError):
    kind, code = Kind.FORBIDDEN, "PERMISSION_DENIED"


class NoAccessibleSources(RagError):
    kind, code = Kind.FORBIDDEN, "NO_ACCESSIBLE_SOURCES"


class NoResults(RagError):
    kind, code = Kind.NOT_FOUND, "NO_RESULTS"


class DocumentTooLarge(RagError):
    kind, code = Kind.TOO_LARGE, "DOCUMENT_TOO_LARGE"


class UnsupportedFormat(RagError):
    kind, code = Kind.UNSUPPORTED, "UNSUPPORTED_FORMAT"


class ParseFailed(RagError):
    kind, code = Kind.UNPROCESSABLE, "PARSE_ERROR"


class EmbeddingFailed(RagError):
    """The embedding model cannot be reached or refuses. `retry`: the same call may succeed later."""

    kind, code = Kind.UNAVAILABLE, "EMBEDDING_FAILED"

    def __init__(self, message: str, *, retry: bool = True, **data: Any) -> None:
        super().__init__(message, **data)
        self.retry = retry


class IndexUnavailable(RagError):
    kind, code = Kind.UNAVAILABLE, "INDEX_UNAVAILABLE"
