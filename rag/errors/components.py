"""A component does not answer: a model, a storage, the search index or the database."""

from .base import ErrorKind, RagError


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
