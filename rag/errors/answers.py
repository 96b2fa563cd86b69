"""There is no answer: nothing was found, it does not fit, or nothing supports it."""

from .base import ErrorKind, RagError


class NoResults(RagError):
    """The search found no passage, which some contracts answer with an error."""

    kind, code = ErrorKind.NOT_FOUND, "NO_RESULTS"
    default_message = "Nothing relevant was found in the data sources that you may query."


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
