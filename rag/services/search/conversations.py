"""Chat: history, retrieved context, the model, and the exchange kept (the v3 contract, 2.3 and 3.1)."""

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from django.conf import settings
from django.db import transaction

from orgs.access.caller import Caller
from orgs.access.effective_permissions import effective_permissions
from orgs.access.permissions import QueryHistory
from orgs.policies.retention import retention_for
from rag.errors import NoLanguageModel, UnknownConversation
from rag.models import Conversation, ConversationMessage
from rag.pipeline.answering import extractive
from rag.pipeline.answering.answer import describe_gaps
from rag.pipeline.answering.blocks import merge_passages
from rag.pipeline.answering.chat_context import build_system_prompt
from rag.pipeline.answering.generate import BY_TITLE, collect_text, generate_text
from rag.pipeline.answering.sentence_similarity import sentence_similarity
from rag.pipeline.grounding.ground import assess_grounding
from rag.pipeline.retrieval import query_rewriting
from rag.providers import registry
from rag.services.access import access_watch
from rag.types import AnswerEvents, ChatReply, Context, GenerationOptions, Message, Passage, Question, Retrieval
from ragsite.postgres.models import as_uuid, uuid7

from . import queries

# That a request may carry: as many are looked at to see which of them are kept already.
MAX_MESSAGES = 200
# Of LLM_TIMEOUT's kind, for the one call before the reply's own.
_REWRITING_SECONDS = 10.0
_NOTHING_FOUND = "The sources do not hold anything about this question."


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One request to the chat. messages: the user's and the assistant's, oldest first; the last is the
    user's. system: the prompt ahead of them, which is not kept.

    conversation_id: empty for a new one. question: what to retrieve for, None to leave retrieval alone.
    """

    messages: Sequence[Message]
    system: str = ""
    conversation_id: str = ""
    generation: GenerationOptions = field(default_factory=GenerationOptions)
    question: Question | None = None


def chat(turn: ChatTurn, reader: queries.SourceSelection) -> AnswerEvents[ChatReply]:
    """The reply; kept when it is whole, if the user's organisations let conversations be kept at all.

    Raises UnknownConversation, NoLanguageModel, GenerationFailed, AccessEnded, and what `queries.retrieve` raises.
    """
    return access_watch.watched(_chat(turn, reader), reader.caller)


def _chat(turn: ChatTurn, reader: queries.SourceSelection) -> AnswerEvents[ChatReply]:
    is_kept = retention_for(reader.caller.user).history == QueryHistory.FULL
    conversation = _conversation(reader.caller, turn.conversation_id, is_kept=is_kept)
    history = _history(conversation) if conversation else []
    messages = [*history, *_new(turn.messages, history)]
    question = _standalone(turn, messages, reader) if turn.question else None
    retrieval = queries.search(question, reader) if question else None
    pieces = _reply(turn, messages, question, retrieval)
    yield retrieval or queries.NOTHING
    text = yield from collect_text(pieces)
    if not is_kept:
        return ChatReply(text, as_uuid(turn.conversation_id) or uuid7(), retrieval)
    kept = [*_new(turn.messages, history), Message("assistant", text)]
    saved = _keep(conversation, reader.caller, kept, retrieval)
    return ChatReply(text, saved.pk, retrieval)


def _conversation(caller: Caller, conversation_id: str, *, is_kept: bool) -> Conversation | None:
    """Another user's does not exist for this one; nor, by a key that is restricted to sources, one that was held
    beyond them. Where none are kept, any id may be one of theirs that was not."""
    if not conversation_id:
        return None
    key, within = as_uuid(conversation_id), effective_permissions(caller).sources
    if key and not is_kept:
        return None
    own = Conversation.objects.filter(user=caller.authenticated_user)
    if within is not None:
        own = own.filter(held_within__contained_by=list(within))
    found = own.filter(pk=key).first() if key else None
    if found is None:
        raise UnknownConversation
    return found


def _history(conversation: Conversation) -> list[Message]:
    newest = conversation.messages.order_by("-position")[: max(settings.RAG_CHAT_TURNS, MAX_MESSAGES)]
    return [Message(row.role, row.content) for row in reversed(newest)]


def _new(sent: Sequence[Message], history: Sequence[Message]) -> list[Message]:
    """What was sent beyond the history: clients may send the last turn alone, or all of them again."""
    for overlap in range(min(len(sent), len(history)), 0, -1):
        if list(history[-overlap:]) == list(sent[:overlap]):
            return list(sent[overlap:]) or [sent[-1]]
    return list(sent)


def _standalone(turn: ChatTurn, messages: Sequence[Message], reader: queries.SourceSelection) -> Question:
    """The turn's question; a follow-up with what it is about. Raises what `queries.retrieve` raises."""
    question = turn.question
    assert question is not None
    earlier = query_rewriting.earlier_questions(messages)
    if not earlier or not query_rewriting.may_depend(question.text):
        return question
    quick = registry.language_model(turn.generation.model, timeout=min(_REWRITING_SECONDS, settings.LLM_TIMEOUT))
    written = query_rewriting.rewritten(question.text, messages, quick) if quick else ""
    if not written:
        if not query_rewriting.depends(question.text):
            return question
        # Titles of what the reader may read today, whatever earlier turns have found.
        titles = [_title_found(dataclasses.replace(question, text=each), reader) for each in (earlier, question.text)]
        written = query_rewriting.expanded(question.text, earlier, earlier_title=titles[0], own_title=titles[1])
    return dataclasses.replace(question, text=written)


def _title_found(question: Question, reader: queries.SourceSelection) -> str:
    found = queries.search(dataclasses.replace(question, top_k=1), reader).passages
    return found[0].title if found else ""


def _reply(
    turn: ChatTurn, messages: Sequence[Message], question: Question | None, retrieval: Retrieval | None
) -> Iterator[str]:
    passages = retrieval.passages if retrieval else ()
    model = registry.language_model(turn.generation.model)
    if model is None and question is None:
        raise NoLanguageModel(
            "No language model is configured. An operator sets LLM_MODEL, LLM_BASE_URL and LLM_API_KEY to any "
            "OpenAI-compatible endpoint; until then send useRag: true for quoted answers."
        )
    if model is None:
        assert question is not None
        return iter([_quoted(question, passages)])
    system = build_system_prompt(turn.system, passages)
    shown = messages[-settings.RAG_CHAT_TURNS :]
    prompt = [Message("system", system), *shown] if system else shown
    return generate_text(model, prompt, turn.generation)


def _quoted(question: Question, passages: Sequence[Passage]) -> str:
    """What answers the question, word for word, and what nothing was found about."""
    grounding = assess_grounding(question.text, Context("", tuple(passages), token_count=0))
    held = tuple(grounding.relevant) if grounding.is_groundable else ()
    shown = merge_passages(held)
    quotes = extractive.extract_quotes(question.text, shown, sentence_similarity(question.text, shown, held))
    text = extractive.render_quotes(quotes, BY_TITLE.mark) or _NOTHING_FOUND
    return f"{text} {describe_gaps(grounding)}".strip()


@transaction.atomic
def _keep(
    conversation: Conversation | None, caller: Caller, messages: Sequence[Message], retrieval: Retrieval | None
) -> Conversation:
    within = effective_permissions(caller).sources
    if conversation is None:
        conversation = Conversation.objects.create(
            user=caller.authenticated_user, held_within=None if within is None else list(within)
        )
    # Locked: two requests that continue one conversation at once are kept one after the other.
    row = Conversation.objects.select_for_update().get(pk=conversation.pk)
    position = row.messages.count()
    ConversationMessage.objects.bulk_create(
        ConversationMessage(conversation=row, position=position + index, role=each.role, content=each.content)
        for index, each in enumerate(messages)
    )
    if within is None or row.held_within is None:
        row.held_within = None
    else:
        row.held_within = sorted({*row.held_within, *within})
    row.rag_used = retrieval is not None
    row.rag_sources = [_source(passage) for passage in retrieval.passages] if retrieval else []
    row.save(update_fields=["rag_used", "rag_sources", "held_within", "updated_at"])
    return row


def _source(passage: Passage) -> dict[str, object]:
    """Ids alone: texts and titles stay where access to them is decided."""
    return {"documentId": str(passage.document_id), "chunkId": str(passage.chunk_id), "score": passage.score}
