"""The caller may not do this, or may not see the object: that it exists is not said then."""

from .base import ErrorKind, RagError, gettext_noop


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
