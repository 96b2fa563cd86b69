"""Chat with retrieval and a stored history (v3 contract, 2.3 and 3.1)."""

import dataclasses
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from django.conf import settings

from orgs.access.permissions import QueryHistory
from orgs.policies.retention import retention_for
from rag.errors import NoLanguageModel
from rag.models import ConversationMessage
from rag.pipeline.answering.chat_system_prompt import NOTICE, build_system_prompt
from rag.pipeline.answering.declined.declined_answers import describe_gaps
from rag.pipeline.answering.declined.no_answer_sentences import sentences_for
from rag.pipeline.answering.extractive.quote_two_answers import quote_answer
from rag.pipeline.answering.extractive.render_quotes import render_quotes
from rag.pipeline.answering.find_passages_to_answer import add_probability_of_parts
from rag.pipeline.answering.generate import BY_TITLE, collect_text, generate_text
from rag.pipeline.answering.merge_passages import merge_passages
from rag.pipeline.answering.sanitize_for_prompt import remove_structure
from rag.pipeline.grounding.assess_grounding import assess_grounding
from rag.pipeline.grounding.gaps import select_reportable_gaps
from rag.pipeline.retrieval.query import follow_up_questions
from rag.pipeline.retrieval.retrieve import LANGUAGE_PENDING
from rag.providers import provider_factory
from rag.services.access import access_rechecks
from rag.services.evaluation import record_unanswered
from rag.services.operations.measurements.measured_queries import MeasuredQuery
from rag.services.queries.history import conversation_store, history_writer
from rag.services.queries.history.conversation_store import MAX_MESSAGES as MAX_MESSAGES
from rag.services.queries.history.stored_answers import AnswerDetails, list_sources, readable_messages
from rag.services.queries.source_selection import SourceSelection
from rag.types import AnswerEvents, ChatReply, Context, GenerationOptions, Message, Question, Retrieval, SearchScope
from ragsite.postgres.models import as_uuid, uuid7

from . import permitted_queries

# How many messages of a conversation, the newest ones, the language model is shown.
MAX_PROMPT_MESSAGES = 40
# Timeout of the language model call that rewrites a follow-up question.
_REWRITING_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One request to the chat.

    Attributes:
        messages: The messages of the user and the assistant, oldest first; the last one is the user's.
        system: The system prompt. It is not stored.
        conversation_id: The id of the conversation; empty for a new one.
        question: The question to retrieve passages for; None to chat without retrieval.
    """

    messages: Sequence[Message]
    system: str = ""
    conversation_id: str = ""
    generation: GenerationOptions = field(default_factory=GenerationOptions)
    question: Question | None = None


def chat(turn: ChatTurn, selection: SourceSelection) -> AnswerEvents[ChatReply]:
    """Stream a reply. The complete exchange is stored if the user's organisations allow conversations to be stored.

    Raises:
        UnknownConversation: If the conversation does not exist for the caller.
        NoLanguageModel: If no language model is configured, and the turn has no question to retrieve for.
        GenerationFailed: If the language model failed.
        AccessEnded: If the caller lost access while the reply was streamed.
        NotAllowed: If the caller belongs to no organisation.
        RagError: If `permitted_queries.search_to_answer` fails.
    """
    repeatable: set[uuid.UUID] = set()
    return access_rechecks.watch_access(_chat(turn, selection, repeatable), selection.caller, repeatable=repeatable)


def _chat(turn: ChatTurn, selection: SourceSelection, repeatable: set[uuid.UUID]) -> AnswerEvents[ChatReply]:
    """Retrieve, generate the reply and store the exchange, without rechecking access.

    Args:
        turn: The request.
        selection: The caller, and the sources to search.
        repeatable: Receives the sources of the stored replies that the language model is shown.
    """
    has_model = provider_factory.language_model(turn.generation.model) is not None
    if has_model:
        permitted_queries.require_membership(selection.caller)
    retention = retention_for(selection.caller.user)
    is_stored = retention.history == QueryHistory.FULL
    conversation = conversation_store.find_conversation(selection.caller, turn.conversation_id, is_stored=is_stored)
    history = conversation_store.load_messages(conversation) if conversation else []
    overlap = _overlap(turn.messages, list(map(conversation_store.to_message, history)))
    # The messages that the request repeats may be stored in a shorter form.
    earlier = readable_messages(selection.caller, history[: len(history) - overlap])
    if has_model:
        repeatable.update(map(uuid.UUID, _list_sources(None, earlier)))
    messages = [*map(conversation_store.to_message, earlier), *turn.messages]
    question = resolve_follow_up(turn, messages, selection) if turn.question else None
    query = MeasuredQuery()
    retrieval = permitted_queries.search_to_answer(question, selection, query) if question else None
    text_parts, is_answered = _generate_reply(turn, messages, question, retrieval)
    yield retrieval or permitted_queries.NO_RESULTS
    text = yield from collect_text(text_parts)
    if not is_stored:
        return ChatReply(text, as_uuid(turn.conversation_id) or uuid7(), retrieval)
    exchange = [*turn.messages[overlap:], Message("assistant", text)]
    seen_by_model = [*earlier, *history[len(history) - overlap :]] if has_model else []
    sources = _list_sources(retrieval, seen_by_model)
    details: AnswerDetails = {"sources": sources} if sources else {}
    searched = None
    if question and retrieval:
        searched = _describe_search(turn, question, messages, history, query.scopes, retrieval)
    if searched:
        details["search"] = searched.to_details()
        if question != turn.question:
            details["searched"] = searched.text
    stored = conversation_store.store_exchange(
        conversation, selection.caller, exchange, retrieval, details=details or None, retention=retention
    )
    if searched and retrieval and not is_answered:
        outcome = record_unanswered.Outcome(
            is_answered, confidence=0.0, is_pending=record_unanswered.is_pending(retrieval)
        )
        message = stored.messages.order_by("-position").first()
        record_unanswered.store_if_unanswered(selection.caller, searched, outcome, answer=message)
    return ChatReply(text, stored.pk, retrieval)


def _describe_search(
    turn: ChatTurn,
    question: Question,
    messages: Sequence[Message],
    history: Sequence[ConversationMessage],
    scopes: Sequence[SearchScope],
    retrieval: Retrieval,
) -> record_unanswered.SearchedQuestion | None:
    """Return the question with what it searched; None if it repeats what replies said."""
    if question == turn.question:
        return record_unanswered.describe_search(question.text, scopes, retrieval)
    if not follow_up_questions.has_only_words_of_user(question.text, messages):
        return None
    searches = record_unanswered.list_searches(history)
    return record_unanswered.describe_search(question.text, scopes, retrieval, earlier=searches)


def _list_sources(retrieval: Retrieval | None, seen_by_model: Sequence[ConversationMessage]) -> list[str]:
    """Return the ids of the sources that the reply uses, also those of earlier replies that it may repeat."""
    repeated = (source for message in seen_by_model for source in (message.details or {}).get("sources", ()))
    return sorted({*list_sources(retrieval.passages if retrieval else ()), *repeated})


def _overlap(sent: Sequence[Message], history: Sequence[Message]) -> int:
    """Return how many of the sent messages end the history: clients send only the latest message, or repeat all.

    The last sent message is always new, even if it repeats the last stored one.
    """
    sent_forms, stored_forms = (list(map(history_writer.shorten, messages)) for messages in (sent[:-1], history))
    for overlap in range(min(len(sent_forms), len(stored_forms)), 0, -1):
        if stored_forms[-overlap:] == sent_forms[:overlap]:
            return overlap
    return 0


def resolve_follow_up(turn: ChatTurn, messages: Sequence[Message], selection: SourceSelection) -> Question:
    """Rewrite a follow-up question so that it can be searched without the earlier messages.

    The language model rewrites it, if there is one. Otherwise it is expanded by the earlier questions or by the title
    of a document that they find; only documents that the caller may read today count.

    Args:
        turn: A turn with a question.
        messages: The whole conversation, oldest first, ending with that question.
        selection: The caller, and the sources to search.

    Returns:
        The turn's question, unchanged if it does not depend on earlier messages.

    Raises:
        RagError: If `permitted_queries.search` fails.
    """
    question = turn.question
    assert question is not None
    earlier = follow_up_questions.earlier_questions(messages)
    if not earlier or not follow_up_questions.may_be_follow_up(question.text):
        return question
    timeout_seconds = min(_REWRITING_TIMEOUT_SECONDS, settings.LLM_TIMEOUT)
    model = provider_factory.language_model(turn.generation.model, timeout=timeout_seconds)
    rewritten = follow_up_questions.rewrite(question.text, _sanitize_replies(messages), model) if model else ""
    if not rewritten:
        if not follow_up_questions.is_follow_up(question.text):
            return question
        earlier_title, own_title = (
            _best_title(dataclasses.replace(question, text=text), selection) for text in (earlier, question.text)
        )
        rewritten = follow_up_questions.expand(question.text, earlier, earlier_title=earlier_title, own_title=own_title)
    return dataclasses.replace(question, text=rewritten)


def _sanitize_replies(messages: Sequence[Message]) -> list[Message]:
    """Return the messages for a prompt: replies quote documents, or repeat them, and are as little to be trusted."""
    return [
        Message(message.role, remove_structure(message.content)) if message.role == "assistant" else message
        for message in messages
    ]


def _best_title(question: Question, selection: SourceSelection) -> str:
    passages = permitted_queries.search(dataclasses.replace(question, top_k=1), selection).passages
    return passages[0].title if passages else ""


def _generate_reply(
    turn: ChatTurn, messages: Sequence[Message], question: Question | None, retrieval: Retrieval | None
) -> tuple[Iterator[str], bool]:
    """Return the parts of the reply, and whether it is an answer.

    It is generated if a language model is configured, and then judged by nothing; otherwise it is quoted.
    """
    passages = retrieval.passages if retrieval else ()
    model = provider_factory.language_model(turn.generation.model)
    if model is None and question is None:
        raise NoLanguageModel(
            "No language model is configured. An operator sets LLM_MODEL, LLM_BASE_URL and LLM_API_KEY to any "
            "OpenAI-compatible endpoint; until then send useRag: true for quoted answers.",
            is_retryable=False,
        )
    if model is None:
        assert question is not None
        assert retrieval is not None
        text, is_answered = _extractive_reply(question, retrieval)
        return iter([text]), is_answered
    system = build_system_prompt(turn.system, passages)
    recent = messages[-MAX_PROMPT_MESSAGES:]
    instructions = [system, NOTICE] if passages else [system]
    prompt = [*(Message("system", text) for text in instructions if text), *_sanitize_replies(recent)]
    return generate_text(model, prompt, turn.generation), True


def _extractive_reply(question: Question, retrieval: Retrieval) -> tuple[str, bool]:
    """Return quotes that answer the question, then what no passage mentions of it; and whether there are quotes."""
    grounding = assess_grounding(question.text, Context("", retrieval.passages, token_count=0))
    grounding = add_probability_of_parts(grounding, retrieval, retrieval.passages)
    relevant = tuple(grounding.relevant) if grounding.is_groundable else ()
    merged = merge_passages(relevant)
    quotes = quote_answer(question.text, merged, relevant, retrieval.searched)
    if not quotes and LANGUAGE_PENDING in retrieval.warnings:
        return sentences_for(question.text).pending, False
    text = render_quotes(quotes, BY_TITLE.format_citation) or sentences_for(question.text).chat_found_nothing
    gaps = select_reportable_gaps(question.text, grounding.gaps) if quotes else grounding.gaps
    return f"{text} {describe_gaps(question.text, gaps)}".strip(), bool(quotes)
