"""Questions in a conversation: grounded answers with citations, follow-up questions and history."""

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
from rag.services.evaluation import record_unanswered
from rag.services.operations.measurements.queries import MeasuredQuery
from rag.services.queries.history import conversation_store, history_quota
from rag.services.queries.history.stored_answers import (
    ReadableAnswer,
    describe_answer,
    read_answers,
    read_messages,
    readable_messages,
)
from rag.types import AnswerEvents, AnswerOptions, AnswerResult, Message, Question

from . import permitted_queries
from .chat_replies import ChatTurn, resolve_follow_up

# How many messages of a conversation are shown, the newest ones.
MAX_SHOWN_MESSAGES = 100
# How many answers with a text are searched for it.
MAX_SEARCHED_ANSWERS = 500


@dataclass(frozen=True, slots=True)
class ConversationAnswer:
    """A question that was answered.

    Attributes:
        result: The output of the query pipeline.
        conversation_id: The conversation that has the question and its answer; None if they are not stored.
    """

    result: AnswerResult
    answer: ReadableAnswer
    conversation_id: uuid.UUID | None


@dataclass(frozen=True, slots=True)
class Exchange:
    """A stored question with its answer. The answer is None if it was not stored."""

    question: str
    answer: ReadableAnswer | None


def is_stored(caller: Caller) -> bool:
    """Return whether the caller's organisations allow conversations to be stored."""
    return retention_for(caller.user).history == QueryHistory.FULL


def ask(
    question: Question, selection: permitted_queries.SourceSelection, options: AnswerOptions, conversation_id: str = ""
) -> AnswerEvents[ConversationAnswer]:
    """Stream a grounded answer, and store it if the caller's organisations allow it.

    A follow-up question is searched as a question that stands alone.

    Args:
        question: The question.
        selection: The caller, and the sources to search.
        options: How to answer.
        conversation_id: The conversation that the question continues; empty for a new one.

    Raises:
        UnknownConversation: If the conversation does not exist for the caller.
        RagError: If `permitted_queries.ask` fails.
    """
    caller, keeps_history = selection.caller, is_stored(selection.caller)
    conversation = conversation_store.find_conversation(caller, conversation_id, is_stored=keeps_history)
    new_message = Message(ConversationMessage.Role.USER.value, question.text)
    history = conversation_store.load_messages(conversation) if conversation else []
    messages = [*map(conversation_store.to_message, readable_messages(caller, history)), new_message]
    turn = ChatTurn(messages, generation=options.generation, question=question)
    searched = resolve_follow_up(turn, messages, selection)
    query = MeasuredQuery()
    result = yield from permitted_queries.ask(searched, selection, options, query=query)
    is_rewritten = searched.text != question.text
    details = describe_answer(result, searched_text=searched.text if is_rewritten else "")
    # A follow-up cannot be understood alone, and its rewritten form repeats what earlier answers said.
    search = None if is_rewritten else record_unanswered.describe_search(question.text, query.scopes, result)
    if search:
        details["search"] = search.to_details()
    message = None
    if keeps_history:
        reply = Message(ConversationMessage.Role.ASSISTANT.value, result.answer.text)
        title = question.text[:MAX_TITLE_CHARACTERS]
        conversation = conversation_store.store_exchange(
            conversation, caller, [new_message, reply], result.retrieval, title=title, details=details
        )
        message = conversation.messages.order_by("-position").first()
        if message:
            record_unanswered.store_if_unanswered(caller, search, result, answer=message)
    (answer,) = read_answers(caller, [(result.answer.text, details, message)])
    return ConversationAnswer(result, answer, conversation.pk if conversation and keeps_history else None)


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
        with turn_to_read(size):
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
    with history_quota.locked_history(caller.authenticated_user) as writer:
        writer.delete_conversation(conversation.pk)
