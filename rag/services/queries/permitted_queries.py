"""Queries: restricts a question to the sources that the caller may query, then runs the query pipeline."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import cast

from orgs.access import organization_resolver
from orgs.access.caller import Caller
from rag.errors import NoAccessibleSources, NotAllowed
from rag.pipeline.answering import answer_if_confident as confident_answering
from rag.pipeline.answering import answer_question as answering
from rag.pipeline.answering.find_passages_to_answer import find_passages_to_answer
from rag.pipeline.retrieval.retrieve import find_passages
from rag.services.access import access_rechecks
from rag.services.evaluation import record_unanswered
from rag.services.operations.measurements.measured_queries import MeasuredQuery
from rag.types import (
    AnswerEvents,
    AnswerOptions,
    AnswerResult,
    ConfidentAnswer,
    GenerationOptions,
    Question,
    Result,
    Retrieval,
    SearchScope,
    SourceIds,
)

from .source_selection import SourceSelection, build_search_scopes

NO_RESULTS = Retrieval(passages=(), total_found=0, source_ids=SourceIds())


def require_membership(caller: Caller) -> None:
    """Check that the caller belongs to an organisation, before a language model is used without a source.

    Raises:
        NotAllowed: If the caller belongs to none: a person who was removed uses up no model.
    """
    if not organization_resolver.organizations_of(caller.user).exists():
        raise NotAllowed("You are not a member of any organisation.")


def retrieve(question: Question, selection: SourceSelection, *, query: MeasuredQuery | None = None) -> Retrieval:
    """Return the best passages of the selected sources.

    Args:
        question: The question.
        selection: The caller, and the sources to search.
        query: Receives what is searched.

    Raises:
        NoAccessibleSources: If the caller may not query any source.
        UnknownSource: If a source of `data_sources` is not visible to the caller.
        RagError: If the retrieval pipeline fails.
    """
    return _measure_search(find_passages, question, selection, query or MeasuredQuery())


def search(question: Question, selection: SourceSelection) -> Retrieval:
    """Return what `retrieve` returns, or an empty result if the caller may not query any source.

    Raises:
        UnknownSource: If a source of `data_sources` is not visible to the caller.
        RagError: If the retrieval pipeline fails.
    """
    try:
        return retrieve(question, selection)
    except NoAccessibleSources:
        return NO_RESULTS


def search_to_answer(question: Question, selection: SourceSelection, query: MeasuredQuery) -> Retrieval:
    """Return the passages to answer a question from, also for each of two questions in one; without access none.

    Args:
        question: The question.
        selection: The caller, and the sources to search.
        query: Receives what is searched.

    Raises:
        UnknownSource: If a source of `data_sources` is not visible to the caller.
        RagError: If the retrieval pipeline fails.
    """
    try:
        return _measure_search(find_passages_to_answer, question, selection, query)
    except NoAccessibleSources:
        return NO_RESULTS


def _measure_search(
    find: Callable[[Question, Sequence[SearchScope]], Retrieval],
    question: Question,
    selection: SourceSelection,
    query: MeasuredQuery,
) -> Retrieval:
    with query.measured():
        query.scopes = build_search_scopes(question, selection)
        return find(question, query.scopes)


def ask(
    question: Question,
    selection: SourceSelection,
    options: AnswerOptions,
    *,
    query: MeasuredQuery | None = None,
    stores_unanswered: bool = False,
) -> AnswerEvents[AnswerResult]:
    """Stream a grounded answer (rag.pipeline.answering.answer_question), and recheck access meanwhile.

    Args:
        question: The question.
        selection: The caller, and the sources to search.
        options: How to answer.
        query: Receives the durations of the stages.
        stores_unanswered: Store the question if it is not answered (rag.services.evaluation.record_unanswered).

    Raises:
        NoAccessibleSources: If the caller may not query any source.
        UnknownSource: If a source of `data_sources` is not visible to the caller.
        AccessEnded: If the caller lost access while the answer was streamed.
        RagError: If the query pipeline fails.
    """
    query = query or MeasuredQuery()
    query.scopes = build_search_scopes(question, selection)
    events = _measure_answer(
        query, access_rechecks.watch_access(answering.ask(question, query.scopes, options), selection.caller)
    )
    return _store_unanswered(question, selection.caller, query, events) if stores_unanswered else events


def _measure_answer(query: MeasuredQuery, events: AnswerEvents[AnswerResult]) -> AnswerEvents[AnswerResult]:
    """Pass the events on, and record the whole answer when it ends."""
    with query.measured(), closing(events):
        result = yield from events
        query.is_grounded = bool(result.answer.citations)
        return result


def _store_unanswered(
    question: Question, caller: Caller, query: MeasuredQuery, events: AnswerEvents[AnswerResult]
) -> AnswerEvents[AnswerResult]:
    with closing(events):
        result = yield from events
        searched = record_unanswered.describe_search(question.text, query.scopes, result.retrieval)
        record_unanswered.store_if_unanswered(caller, searched, record_unanswered.Outcome.of(result))
        return result


def answer_if_confident(
    question: Question, selection: SourceSelection, generation: GenerationOptions
) -> AnswerEvents[ConfidentAnswer]:
    """Stream the retrieval contract's answer (rag.pipeline.answering.answer_if_confident).

    A question without an answer is stored. What a language model wrote is judged by nothing, so it counts as an answer.
    If the caller may not query any source, the result is empty and confidence is low.

    Raises:
        UnknownSource: If a source of `data_sources` is not visible to the caller.
        AccessEnded: If the caller lost access while the answer was streamed.
        RagError: If the query pipeline fails.
    """
    try:
        scopes = build_search_scopes(question, selection)
    except NoAccessibleSources:
        scopes = []
    events = access_rechecks.watch_access(
        confident_answering.answer_if_confident(question, scopes, generation), selection.caller
    )
    return _store_unconfident(question, selection.caller, scopes, events)


def _store_unconfident(
    question: Question, caller: Caller, scopes: Sequence[SearchScope], events: AnswerEvents[ConfidentAnswer]
) -> AnswerEvents[ConfidentAnswer]:
    with closing(events):
        answer = yield from events
        is_answered = bool(answer.model and answer.text)
        outcome = record_unanswered.Outcome(
            is_answered, float(is_answered), is_pending=record_unanswered.is_pending(answer.retrieval)
        )
        searched = record_unanswered.describe_search(question.text, scopes, answer.retrieval)
        record_unanswered.store_if_unanswered(caller, searched, outcome)
        return answer


def run_to_completion(events: AnswerEvents[Result]) -> Result:
    """Consume the events and return the complete result, for clients that do not stream."""
    while True:
        try:
            next(events)
        except StopIteration as end:
            return cast(Result, end.value)
