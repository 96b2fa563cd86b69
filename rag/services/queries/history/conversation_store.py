"""Finds and stores the conversations of a user: those of the chat contract and of the page "Ask"."""

import uuid
from collections.abc import Collection, Mapping, Sequence

from orgs.access.caller import Caller
from orgs.access.effective_permissions import effective_permissions
from orgs.policies.retention import Retention
from rag.errors import UnknownConversation
from rag.models import Conversation, ConversationMessage
from rag.models.search.conversations import MAX_TITLE_CHARACTERS
from rag.types import Message, Passage, Retrieval
from ragsite.postgres.models import as_uuid, uuid7

from . import history_writer

# Maximum number of messages in a request. As many stored ones are read, to find out which of the sent ones are new.
MAX_MESSAGES = 200


def find_conversation(caller: Caller, conversation_id: str, *, is_stored: bool) -> Conversation | None:
    """Return the caller's conversation; None if the turn starts a new one.

    A conversation of another user does not exist for the caller. An API key that is restricted to sources, or to its
    organisation, does not see a conversation that used other sources either. Where conversations are not stored, any id
    is accepted, because an earlier reply may have returned it.

    Raises:
        UnknownConversation: If the conversation does not exist for the caller.
    """
    if not conversation_id:
        return None
    pk, restriction = as_uuid(conversation_id), _restriction(caller)
    if pk and not is_stored:
        return None
    conversations = Conversation.objects.filter(user=caller.authenticated_user)
    if restriction is not None:
        conversations = conversations.filter(restricted_to_sources__contained_by=list(restriction))
    conversation = conversations.filter(pk=pk).first() if pk else None
    if conversation is None:
        raise UnknownConversation
    return conversation


def load_messages(conversation: Conversation) -> list[ConversationMessage]:
    """Return the newest messages of the conversation, oldest first."""
    return list(conversation.messages.order_by("-position")[:MAX_MESSAGES])[::-1]


def to_message(stored: ConversationMessage) -> Message:
    """Return a stored message as the pipeline takes it."""
    return Message(stored.role, stored.content)


def store_exchange(
    conversation: Conversation | None,
    caller: Caller,
    messages: Sequence[Message],
    retrieval: Retrieval | None,
    *,
    title: str = "",
    details: Mapping[str, object] | None = None,
    retention: Retention | None = None,
) -> Conversation:
    """Append the messages to the conversation, or to a new one, and record the sources of the latest reply.

    Args:
        conversation: The conversation; None for a new one.
        caller: The caller, whose conversation it is.
        messages: The new messages, oldest first.
        retrieval: The passages of the reply; None if it used none.
        title: The title of a new conversation.
        details: The details of the last message (ConversationMessage); None for none.
        retention: What the request has read already (history_writer.locked_history).
    """
    restriction, user = _restriction(caller), caller.authenticated_user
    # Locked: simultaneous requests of a user are stored one after the other.
    with history_writer.locked_history(user, retention) as writer:
        locked = conversation and Conversation.objects.select_for_update().filter(pk=conversation.pk).first()
        if locked is None:
            # A new one. Or another request has deleted the conversation, if it was the user's oldest.
            locked = Conversation(pk=conversation.pk if conversation else uuid7(), user=user, title=title)
            locked.restricted_to_sources = None if restriction is None else list(restriction)
        _set_sources(locked, restriction, retrieval)
        writer.add_messages(locked, messages, details=details)
    return locked


def title_of(question: str) -> str:
    """Return the title of a conversation that begins with this question."""
    return question[:MAX_TITLE_CHARACTERS]


def _restriction(caller: Caller) -> Collection[uuid.UUID] | None:
    """Return the ids of what the caller's API key is restricted to; None for no restriction."""
    return effective_permissions(caller).source_ids_or_organization_id if caller.key else None


def _set_sources(
    conversation: Conversation, restriction: Collection[uuid.UUID] | None, retrieval: Retrieval | None
) -> None:
    """Set which sources the conversation was allowed to use, and the passages of its last reply. Not saved."""
    if restriction is None or conversation.restricted_to_sources is None:
        conversation.restricted_to_sources = None
    else:
        conversation.restricted_to_sources = sorted({*conversation.restricted_to_sources, *restriction})
    conversation.rag_used = retrieval is not None
    conversation.rag_sources = [_build_reference(passage) for passage in retrieval.passages] if retrieval else []


def _build_reference(passage: Passage) -> dict[str, object]:
    """Return the ids of a passage to store; texts and titles are read later, when access to them is checked."""
    return {"documentId": str(passage.document_id), "chunkId": str(passage.chunk_id), "score": passage.score}
