"""Grounded answers to the last question of a dialogue that the client keeps (chat completions).

Only questions without a good answer are stored.
"""

from collections.abc import Sequence

from rag.errors import NoResults
from rag.pipeline.answering.declined.no_answer_sentences import sentences_for
from rag.services.queries.source_selection import SourceSelection
from rag.types import Answer, AnswerEvents, AnswerOptions, AnswerResult, Context, Grounding, Message, Question

from . import chat_replies, permitted_queries


def answer(
    question: Question,
    dialogue: Sequence[Message],
    selection: SourceSelection,
    options: AnswerOptions,
) -> AnswerEvents[AnswerResult]:
    """Stream what `permitted_queries.ask` answers; a follow-up question is rewritten first so that it stands alone.

    Args:
        question: The last message.
        dialogue: The messages of the user and the assistant, oldest first, ending with the question.
        selection: The caller, and the sources to search.
        options: How to answer.

    Raises:
        NoAccessibleSources: If the caller may not query any source.
        RagError: If `permitted_queries.ask` fails. If nothing is found, the answer says so.
    """
    turn = chat_replies.ChatTurn(messages=dialogue, generation=options.generation, question=question)
    standalone = chat_replies.resolve_follow_up(turn, dialogue, selection)
    try:
        # The dialogue does not say which sources its earlier messages were about, so their words are not stored.
        stores = standalone.text == question.text
        return (yield from permitted_queries.ask(standalone, selection, options, stores_unanswered=stores))
    except NoResults:  # raised before the first event
        yield permitted_queries.NO_RESULTS
        no_answer = sentences_for(standalone.text).no_answer
        yield no_answer
    grounding = Grounding(is_groundable=False, score=0.0, relevant=(), gaps=())
    answer = Answer(no_answer, (), confidence=0.0, model="")
    return AnswerResult(permitted_queries.NO_RESULTS, Context("", (), token_count=0), grounding, answer)
