"""The caller's conversations of the page Ask: list, search, read, rename and delete."""

import dataclasses
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from orgs.access.caller import Caller
from orgs.access.permissions import QueryHistory
from orgs.policies.retention import retention_for
from rag.errors import UnknownConversation
from rag.models import Conversation, ConversationMessage, HistoryUsage
from rag.models.search.conversations import MAX_TITLE_CHARACTERS
from rag.providers.limits.long_text_limiter import turn_to_read

from . import history_writer
from .stored_answers import ReadableAnswer, read_messages, readable_messages

# How many messages of a conversation are shown, the newest ones.
MAX_SHOWN_MESSAGES = 100
# How many answers with a text are searched for it.
MAX_SEARCHED_ANSWERS = 500


def is_stored(caller: Caller) -> bool:
    """Return whether the caller's organisations allow conversations to be stored."""
    return retention_for(caller.user).history == QueryHistory.FULL


def list_conversations(caller: Caller, *, search: str = "") -> QuerySet[Conversation]:
    """Return the caller's conversations of the page "Ask", the latest first.

    Args:
        caller: The user whose conversations they are.
        search: A part of the title or of a message; empty for all.
    """
    conversations = Conversation.objects.filter(user=caller.authenticated_user).exclude(title="")
    if not is_stored(caller):
        return conversations.none()
    if search:
        size = HistoryUsage.objects.filter(pk=caller.authenticated_user.pk).values_list("bytes", flat=True).first() or 0
        with turn_to_read(size, caller.authenticated_user.pk):
            matching = _conversations_saying(caller, conversations, search)
        conversations = conversations.filter(Q(title__icontains=search) | Q(pk__in=matching))
    return conversations.order_by("-updated_at", "-pk")


def _conversations_saying(caller: Caller, conversations: QuerySet[Conversation], search: str) -> set[uuid.UUID]:
    """Return the conversations with the text in a question, or in an answer that the caller may still read.

    Of the answers with the text, the newest are looked at.
    """
    saying = ConversationMessage.objects.filter(conversation__in=conversations, content__icontains=search)
    questions = saying.filter(role=ConversationMessage.Role.USER).values_list("conversation", flat=True)
    answers = saying.filter(role=ConversationMessage.Role.ASSISTANT).only("conversation", "details").order_by("-pk")
    readable = readable_messages(caller, list(answers[:MAX_SEARCHED_ANSWERS]))
    return {*questions, *(answer.conversation_id for answer in readable)}


def get_conversation(caller: Caller, conversation_id: uuid.UUID) -> Conversation:
    """Return a conversation of the caller.

    Raises:
        UnknownConversation: If it does not exist for the caller.
    """
    conversation = list_conversations(caller).filter(pk=conversation_id).first()
    if conversation is None:
        raise UnknownConversation
    return conversation


@dataclass(frozen=True, slots=True)
class Exchange:
    """A stored question with its answer. The answer is None if it was not stored."""

    question: str
    answer: ReadableAnswer | None


def read_conversation(caller: Caller, conversation: Conversation) -> list[Exchange]:
    """Return the newest questions and answers of the conversation, oldest first.

    Answers that use a source that the caller may no longer query are withheld.
    """
    newest = list(conversation.messages.order_by("-position")[:MAX_SHOWN_MESSAGES])[::-1]
    replies = [message for message in newest if message.role == ConversationMessage.Role.ASSISTANT]
    answers = _without_withheld_words(read_messages(caller, replies))
    by_position = {message.position: answer for message, answer in zip(replies, answers, strict=True)}
    return [
        Exchange(message.content, by_position.get(message.position + 1))
        for message in newest
        if message.role == ConversationMessage.Role.USER
    ]


def _without_withheld_words(answers: Iterable[ReadableAnswer]) -> Iterator[ReadableAnswer]:
    """Yield the answers of a conversation; after a withheld one without rewritten questions, which may repeat it."""
    follows_withheld = False
    for answer in answers:
        yield dataclasses.replace(answer, searched_text="") if follows_withheld else answer
        follows_withheld = follows_withheld or answer.is_withheld


def rename_conversation(conversation: Conversation, title: str) -> None:
    """Change the title that the conversation is listed under."""
    Conversation.objects.filter(pk=conversation.pk).update(title=title[:MAX_TITLE_CHARACTERS])


def delete_conversation(caller: Caller, conversation: Conversation) -> None:
    """Delete the conversation with its messages and ratings."""
    with history_writer.locked_history(caller.authenticated_user) as writer:
        writer.delete_conversation(conversation.pk)
