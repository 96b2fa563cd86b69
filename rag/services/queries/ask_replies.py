"""Questions of the page Ask: grounded answers with citations; a follow-up continues a conversation."""

import uuid
from dataclasses import dataclass

from rag.models import ConversationMessage
from rag.pipeline.retrieval.query.follow_up_questions import has_only_words_of_user
from rag.services.evaluation import record_unanswered
from rag.services.operations.measurements.measured_queries import MeasuredQuery
from rag.services.queries.history import conversation_store, own_conversations
from rag.services.queries.history.stored_answers import (
    ReadableAnswer,
    describe_answer,
    read_answers,
    readable_messages,
)
from rag.services.queries.source_selection import SourceSelection
from rag.types import AnswerEvents, AnswerOptions, AnswerResult, Message, Question

from . import permitted_queries
from .chat_replies import ChatTurn, resolve_follow_up


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


def ask(
    question: Question, selection: SourceSelection, options: AnswerOptions, conversation_id: str = ""
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
    caller, keeps_history = selection.caller, own_conversations.is_stored(selection.caller)
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
    search = None
    # A rewritten question is stored unless it repeats what replies said; whoever sees it may query what they searched.
    if not is_rewritten or has_only_words_of_user(searched.text, messages):
        earlier = record_unanswered.list_searches(history) if is_rewritten else ()
        search = record_unanswered.describe_search(searched.text, query.scopes, result.retrieval, earlier=earlier)
    if search:
        details["search"] = search.to_details()
    message = None
    if keeps_history:
        reply = Message(ConversationMessage.Role.ASSISTANT.value, result.answer.text)
        title = conversation_store.title_of(question.text)
        conversation = conversation_store.store_exchange(
            conversation, caller, [new_message, reply], result.retrieval, title=title, details=details
        )
        message = conversation.messages.order_by("-position").first()
        if message:
            outcome = record_unanswered.Outcome.of(result)
            record_unanswered.store_if_unanswered(caller, search, outcome, answer=message)
    (answer,) = read_answers(caller, [(result.answer.text, details, message)])
    return ConversationAnswer(result, answer, conversation.pk if conversation and keeps_history else None)
