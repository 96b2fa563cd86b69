"""The errors of the core with their messages, without HTTP.

A message that differs is written where the error is raised. Each contract decides in its `error_format.py` how a kind
of error looks in its responses.
"""

import enum
from typing import Any


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
        self.data: dict[str, Any] = data


class InvalidRequest(RagError):
    """A value in the request is wrong.

    Attributes:
        field: The field of the request, by its name in Python.
    """

    kind, code = ErrorKind.INVALID, "INVALID_REQUEST"

    def __init__(self, message: str, *, field: str, **data: object) -> None:
        super().__init__(message, **data)
        self.field = field


class UnknownSource(RagError):
    """The data source does not exist, or not for this caller."""

    kind, code = ErrorKind.NOT_FOUND, "SOURCE_NOT_FOUND"
    default_message = "There is no such data source, or it is not visible to you."


class UnknownModel(RagError):
    """The model does not exist, or not for this caller."""

    kind, code = ErrorKind.NOT_FOUND, "MODEL_NOT_FOUND"
    default_message = "There is no such model, or it is not visible to you. GET /v1/models lists the models for chats."


class UnknownConversation(RagError):
    """The conversation does not exist for this caller."""

    kind, code = ErrorKind.NOT_FOUND, "CONVERSATION_NOT_FOUND"
    default_message = "There is no such conversation. Leave conversationId out to begin one."


class UnknownQuery(RagError):
    """The search record does not exist for this caller."""

    kind, code = ErrorKind.NOT_FOUND, "QUERY_NOT_FOUND"
    default_message = "No search results found with the provided query ID"


class UnknownQuestion(RagError):
    """The unanswered question does not exist for this caller."""

    kind, code = ErrorKind.NOT_FOUND, "QUESTION_NOT_FOUND"
    default_message = "There is no such question."


class UnknownDocument(RagError):
    """The document does not exist in the data source."""

    kind, code = ErrorKind.NOT_FOUND, "DOCUMENT_NOT_FOUND"
    default_message = "There is no such document in this data source."


class UnknownWebhook(RagError):
    """The webhook does not exist for this caller."""

    kind, code = ErrorKind.NOT_FOUND, "WEBHOOK_NOT_FOUND"
    default_message = "There is no such webhook, or it is not visible to you."


class UnknownJob(RagError):
    """The job does not exist for this caller."""

    kind, code = ErrorKind.NOT_FOUND, "JOB_NOT_FOUND"
    default_message = "There is no such job, or it is not visible to you."


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


class NotAllowed(RagError):
    """The caller may see the object, but not do this with it."""

    kind, code = ErrorKind.FORBIDDEN, "PERMISSION_DENIED"


class AccessEnded(RagError):
    """During a request the credential became invalid, or the caller lost access to a source that it uses."""

    kind, code = ErrorKind.FORBIDDEN, "ACCESS_ENDED"
    default_message = gettext_noop("Your access ended, or changed, during this request. Ask again.")


class NoAccessibleSources(RagError):
    """The caller may not query any data source."""

    kind, code = ErrorKind.FORBIDDEN, "NO_ACCESSIBLE_SOURCES"
    default_message = gettext_noop("There is no data source that you may query.")


class NoResults(RagError):
    """The search found no passage, which some contracts answer with an error."""

    kind, code = ErrorKind.NOT_FOUND, "NO_RESULTS"
    default_message = "Nothing relevant was found in the data sources that you may query."


class DocumentTooLarge(RagError):
    """A text or file exceeds a limit."""

    kind, code = ErrorKind.TOO_LARGE, "DOCUMENT_TOO_LARGE"


class UnsupportedFormat(RagError):
    """No parser reads files of this format, or the file is a picture and text recognition is not available."""

    kind, code = ErrorKind.UNSUPPORTED, "UNSUPPORTED_FORMAT"


class ParseFailed(RagError):
    """The file is damaged, encrypted or empty, or parsing took too much time or memory."""

    kind, code = ErrorKind.UNPROCESSABLE, "PARSE_ERROR"


class IndexFull(RagError):
    """The organisation's quota is used up. Nothing of the refused document is stored."""

    kind, code = ErrorKind.FULL, "INDEX_FULL"


class ContextOverflow(RagError):
    """The prompt template, the question and the best passage have more tokens than the request's `maxTokens`."""

    kind, code = ErrorKind.UNPROCESSABLE, "CONTEXT_OVERFLOW"


class TemplateInvalid(RagError):
    """The prompt template of the request is invalid."""

    kind, code = ErrorKind.UNPROCESSABLE, "TEMPLATE_ERROR"


class InsufficientContext(RagError):
    """Strict mode: the passages do not contain the answer. Judged before an answer was generated."""

    kind, code = ErrorKind.UNPROCESSABLE, "INSUFFICIENT_CONTEXT"


class NotGrounded(RagError):
    """Strict mode: an answer was generated, but the passages do not support it."""

    kind, code = ErrorKind.UNPROCESSABLE, "NOT_GROUNDED"


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


class ProviderFailed(RagError):
    """A model or storage behind the network cannot be reached, or refuses the call.

    Attributes:
        is_retryable: Whether the same call may succeed later.
        is_rate_limited: Whether the call was refused because of too many requests.
        is_own_limit: Whether this server refused it, before it asked the provider.
        is_timeout: Whether the provider did not answer in time.
        retry_after_seconds: The seconds of the provider's Retry-After header; None without the header.
        may_be_request_fault: Whether the cause may be this request, and not the provider.
    """

    kind = ErrorKind.UNAVAILABLE

    def __init__(
        self,
        message: str,
        *,
        is_retryable: bool = True,
        is_rate_limited: bool = False,
        is_own_limit: bool = False,
        is_timeout: bool = False,
        retry_after_seconds: float | None = None,
        may_be_request_fault: bool = False,
        **data: object,
    ) -> None:
        super().__init__(message, **data)
        self.is_retryable = is_retryable
        self.retry_after_seconds = retry_after_seconds
        self.is_rate_limited = is_rate_limited
        self.is_own_limit = is_own_limit
        self.is_timeout = is_timeout
        self.may_be_request_fault = may_be_request_fault


class EmbeddingFailed(ProviderFailed):
    """An embedding model failed."""

    code = "EMBEDDING_FAILED"


class RerankFailed(ProviderFailed):
    """A reranker failed."""

    code = "RERANK_FAILED"


class GroundingFailed(ProviderFailed):
    """The language model that judges passages failed."""

    code = "GROUNDING_FAILED"


class EntailmentFailed(ProviderFailed):
    """An entailment model failed."""

    code = "ENTAILMENT_FAILED"


class StorageFailed(ProviderFailed):
    """The file storage does not answer, or has lost a file."""

    code = "STORAGE_UNAVAILABLE"


class GenerationFailed(ProviderFailed):
    """A language model failed."""

    code = "GENERATION_FAILED"


class NoLanguageModel(GenerationFailed):
    """No language model is configured, and the request needs one."""


class IndexUnavailable(RagError):
    """The search index cannot be used at the moment."""

    kind, code = ErrorKind.UNAVAILABLE, "INDEX_UNAVAILABLE"


class ModelChanged(IndexUnavailable):
    """The source was switched to another embedding model while documents were being embedded: embed them again."""

    default_message = "The embedding model of the data source changed during the ingestion. Send the document again."


class DatabaseUnavailable(IndexUnavailable):
    """PostgreSQL does not answer."""
