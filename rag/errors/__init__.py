"""The errors of the core with their messages, without HTTP.

A message that differs is written where the error is raised. Each contract decides in its `error_format.py` how a kind
of error looks in its responses.
"""

from .access import (
    AccessEnded,
    NoAccessibleSources,
    NotAllowed,
    UnknownConversation,
    UnknownDocument,
    UnknownJob,
    UnknownModel,
    UnknownQuery,
    UnknownQuestion,
    UnknownSource,
    UnknownWebhook,
)
from .answers import (
    ContextOverflow,
    InsufficientContext,
    NoResults,
    NotGrounded,
    TemplateInvalid,
)
from .base import ErrorKind, RagError
from .components import (
    DatabaseUnavailable,
    EmbeddingFailed,
    EntailmentFailed,
    GenerationFailed,
    GroundingFailed,
    IndexUnavailable,
    ModelChanged,
    NoLanguageModel,
    ProviderFailed,
    RerankFailed,
    StorageFailed,
)
from .documents import DocumentTooLarge, IndexFull, ParseFailed, UnsupportedFormat
from .requests import (
    IdempotencyKeyInUse,
    IdempotencyKeyReused,
    InvalidRequest,
    NothingToRetry,
    SlugTaken,
    TooManyLongRequests,
    TooManyReads,
    VersionChanged,
)

__all__ = [
    "AccessEnded",
    "ContextOverflow",
    "DatabaseUnavailable",
    "DocumentTooLarge",
    "EmbeddingFailed",
    "EntailmentFailed",
    "ErrorKind",
    "GenerationFailed",
    "GroundingFailed",
    "IdempotencyKeyInUse",
    "IdempotencyKeyReused",
    "IndexFull",
    "IndexUnavailable",
    "InsufficientContext",
    "InvalidRequest",
    "ModelChanged",
    "NoAccessibleSources",
    "NoLanguageModel",
    "NoResults",
    "NotAllowed",
    "NotGrounded",
    "NothingToRetry",
    "ParseFailed",
    "ProviderFailed",
    "RagError",
    "RerankFailed",
    "SlugTaken",
    "StorageFailed",
    "TemplateInvalid",
    "TooManyLongRequests",
    "TooManyReads",
    "UnknownConversation",
    "UnknownDocument",
    "UnknownJob",
    "UnknownModel",
    "UnknownQuery",
    "UnknownQuestion",
    "UnknownSource",
    "UnknownWebhook",
    "UnsupportedFormat",
    "VersionChanged",
]
