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
    CONFLICT = "conflict"  # what is asked for does not fit the state that the thing is in
    FULL = "full"  # a quota
    UNAVAILABLE = "unavailable"  # something that is needed does not answer; trying again may help


class RagError(Exception):
    """The root. `message` is for the caller: no internals, no document text. `data` is for its details.

    words: the message of an error that says the same wherever it is raised, so that nobody can tell why.
    """

    kind: Kind
    code: str
    words = ""

    def __init__(self, message: str = "", **data: Any) -> None:
        self.message = message or self.words
        super().__init__(self.message)
        self.data = data


class InvalidRequest(RagError):
    """`field`: the request's field that is wrong, by its name in Python."""

    kind, code = Kind.INVALID, "INVALID_REQUEST"

    def __init__(self, message: str, *, field: str, **data: Any) -> None:
        super().__init__(message, **data)
        self.field = field


class UnknownSource(RagError):
    kind, code = Kind.NOT_FOUND, "SOURCE_NOT_FOUND"
    words = "There is no such data source, or it is not visible to you."


class UnknownConversation(RagError):
    kind, code = Kind.NOT_FOUND, "CONVERSATION_NOT_FOUND"
    words = "There is no such conversation. Leave conversationId out to begin one."


class UnknownQuery(RagError):
    kind, code = Kind.NOT_FOUND, "QUERY_NOT_FOUND"
    words = "No search results found with the provided query ID"


class UnknownDocument(RagError):
    kind, code = Kind.NOT_FOUND, "DOCUMENT_NOT_FOUND"
    words = "There is no such document in this data source."


class UnknownJob(RagError):
    kind, code = Kind.NOT_FOUND, "JOB_NOT_FOUND"
    words = "There is no such job, or it is not visible to you."


class NothingToRetry(RagError):
    kind, code = Kind.CONFLICT, "NOTHING_TO_RETRY"


class NotAllowed(RagError):
    kind, code = Kind.FORBIDDEN, "PERMISSION_DENIED"


class AccessEnded(RagError):
    """While an answer was on its way: the credential counts no more, or a source that is used was closed."""

    kind, code = Kind.FORBIDDEN, "ACCESS_ENDED"
    words = "Your access ended, or changed, while this was being answered. Ask again."


class NoAccessibleSources(RagError):
    kind, code = Kind.FORBIDDEN, "NO_ACCESSIBLE_SOURCES"
    words = "There is no data source that you may query."


class NoResults(RagError):
    kind, code = Kind.NOT_FOUND, "NO_RESULTS"
    words = "Nothing relevant was found in the data sources that you may query."


class DocumentTooLarge(RagError):
    kind, code = Kind.TOO_LARGE, "DOCUMENT_TOO_LARGE"


class UnsupportedFormat(RagError):
    kind, code = Kind.UNSUPPORTED, "UNSUPPORTED_FORMAT"


class ParseFailed(RagError):
    kind, code = Kind.UNPROCESSABLE, "PARSE_ERROR"


class IndexFull(RagError):
    """The organisation's quota is used up; nothing of the refused document is stored."""

    kind, code = Kind.FULL, "INDEX_FULL"


class ContextOverflow(RagError):
    """The template, the question and the best passage are more than the caller's `maxTokens`."""

    kind, code = Kind.UNPROCESSABLE, "CONTEXT_OVERFLOW"


class TemplateInvalid(RagError):
    kind, code = Kind.UNPROCESSABLE, "TEMPLATE_ERROR"


class InsufficientContext(RagError):
    """Strict: the sources do not hold the answer, as judged before one was made."""

    kind, code = Kind.UNPROCESSABLE, "INSUFFICIENT_CONTEXT"


class NotGrounded(RagError):
    """Strict: an answer was made, and the sources do not support it."""

    kind, code = Kind.UNPROCESSABLE, "NOT_GROUNDED"


class ProviderFailed(RagError):
    """A model behind HTTP cannot be reached or refuses.

    retry: the same call may succeed later. busy: it refused because of too many requests. timed_out: it was too slow.
    retry_after: seconds after which the provider wants to be asked again, where it said so. of_request: it may be what
    was asked that it fails of, and not the provider that is down.
    """

    kind = Kind.UNAVAILABLE

    def __init__(
        self,
        message: str,
        *,
        retry: bool = True,
        busy: bool = False,
        timed_out: bool = False,
        retry_after: float | None = None,
        of_request: bool = False,
        **data: Any,
    ) -> None:
        super().__init__(message, **data)
        self.retry = retry
        self.retry_after = retry_after
        self.busy = busy
        self.timed_out = timed_out
        self.of_request = of_request


class EmbeddingFailed(ProviderFailed):
    code = "EMBEDDING_FAILED"


class RerankFailed(ProviderFailed):
    code = "RERANK_FAILED"


class GroundingFailed(ProviderFailed):
    code = "GROUNDING_FAILED"


class StorageFailed(ProviderFailed):
    """The storage of files does not answer, or has lost one."""

    code = "STORAGE_UNAVAILABLE"


class GenerationFailed(ProviderFailed):
    code = "GENERATION_FAILED"


class NoLanguageModel(GenerationFailed):
    """None is configured, and what was asked for cannot be done without one."""


class IndexUnavailable(RagError):
    kind, code = Kind.UNAVAILABLE, "INDEX_UNAVAILABLE"


class ModelChanged(IndexUnavailable):
    """The source was switched to another embedding model while its vectors were being made: make them again."""

    words = "The data source got another embedding model meanwhile. Send the document again."


class DatabaseUnavailable(IndexUnavailable):
    """PostgreSQL itself does not answer."""
