"""The query pipeline: embed -> candidates (dense, lexical, fuse) -> passages -> deduplicate -> score -> rerank."""

import dataclasses
import functools
import uuid
from collections.abc import Mapping, Sequence

from django.db import transaction

from rag.models.search import searched_sources
from rag.providers import provider_factory
from rag.text.question_language import is_english, is_foreign
from rag.types import Hit, Mode, Passage, Question, Retrieval, SearchScope, SearchTrace, SourceIds
from ragsite.observability import measurement_buffer
from ragsite.postgres.replicas import routing as replicas

from .deduplicate import deduplicate
from .find_candidates import UNDER_FILLED, find_candidates, may_have_more_candidates, retrieval_mode
from .load_passages import read_passages
from .query.embed_in_scopes import EmbeddedQuestion, embed_in_scopes, multilingual_vector
from .query.spelling.correct_spelling import WARNING as SPELLING_CORRECTED
from .query.spelling.correct_spelling import correct_spelling
from .relative_similarity import add_relative_similarities
from .reranking.late_interaction import add_maxsim
from .reranking.other_languages import add_multilingual_cosines, find_multilingual
from .reranking.rerank import MAX_RERANKED, rerank

# An attempt fails only if a document is replaced between its two reads, or is newer than the replica that was read.
_MAX_ATTEMPTS = 10

# The question is not English, and some sources do not have all vectors of the multilingual model yet.
LANGUAGE_PENDING = "LANGUAGE_PENDING"
# Hits, best first; the best passages; the searched sources; warnings; the candidates; whether all chunks still exist.
_Outcome = tuple[list[Hit], list[Passage], SourceIds, tuple[str, ...], SearchTrace, bool]


def find_passages(question: Question, scopes: Sequence[SearchScope]) -> Retrieval:
    """Find the best passages of the scopes.

    A document may be replaced between finding its chunks and reading them. Its old chunks no longer exist then, and the
    search is repeated to find the new ones. So every result contains the old version or the new one.

    Raises:
        EmbeddingFailed: If no embedding model answers, and the mode is not lexical.
        IndexUnavailable: If the store does not answer.
        InvalidRequest: If no reranker has the name that the question has. Nothing is searched then.
        RerankFailed: If the reranker that the question names does not answer.
    """
    if question.rerank:
        provider_factory.reranker(question.rerank_model)
    question = correct_spelling(question, scopes)
    with measurement_buffer.measure("query_stage", "embed"):
        embedded = embed_in_scopes(question, scopes)
    organization_ids = {key for scope in scopes for key in scope.organization_ids}
    for attempt in range(_MAX_ATTEMPTS):
        with measurement_buffer.measure("query_stage", "search"):
            if attempt:  # a replica may not have the new version yet
                outcome = _search(question, embedded, scopes)
            else:
                outcome = replicas.read(functools.partial(_search, question, embedded, scopes), organization_ids)
        hits, passages, source_ids, warnings, trace, is_complete = outcome
        if is_complete:
            break
    if question.is_corrected:
        warnings += (SPELLING_CORRECTED,)
    # A minimum score leaves out passages that are not wanted.
    if len(passages) < question.top_k and not question.min_score and may_have_more_candidates(trace, question):
        warnings += (UNDER_FILLED,)
    if any(scope.lacks_language for scope in scopes):
        warnings += (LANGUAGE_PENDING,)
    trace = dataclasses.replace(trace, deduplicated=tuple(passage.chunk_id for passage in passages))
    if question.rerank and passages:  # outside of the transaction: a reranker may be a remote service
        with measurement_buffer.measure("query_stage", "rerank"):
            passages, rerank_warnings = rerank(question, passages, multilingual_vector(question, embedded))
        warnings += rerank_warnings
    return Retrieval(
        passages=with_ranks(add_relative_similarities(passages, question.top_k)),
        total_found=len(hits),
        source_ids=source_ids,
        warnings=warnings,
        trace=dataclasses.replace(trace, ranked=tuple(passage.chunk_id for passage in passages)),
    )


def _search(question: Question, embedded: Sequence[EmbeddedQuestion], scopes: Sequence[SearchScope]) -> _Outcome:
    """Find the candidates of the scopes, on a read replica if there is one, and read the best passages.

    The passages are read from the primary, where access is checked again: what was revoked or deleted is not returned.
    The ids of the searched sources are listed in the same transaction, which saves the round trips of another one.
    """
    limit = max(question.top_k, MAX_RERANKED) if question.rerank else question.top_k
    removes_copies = question.deduplicate and retrieval_mode(question) != Mode.DENSE
    # One transaction, so that the caller's identity is set once for all queries.
    with transaction.atomic():
        hits, warnings, trace = find_candidates(question, embedded)
        with replicas.on_primary():
            passages, is_complete = _read_best(hits, limit, removes_copies=removes_copies)
            source_ids = searched_sources.list_ids(scopes, with_unlisted=question.names_sources)
        if question.rerank:
            known = {hit.chunk_id: hit.token_similarities for hit in hits if hit.token_similarities}
            best = _add_maxsim(question.text, passages[:MAX_RERANKED], known)
            multilingual = find_multilingual(question, embedded)
            if multilingual is not None:
                best = add_multilingual_cosines(best, embedded[multilingual])
            passages[:MAX_RERANKED] = best
    return hits, passages, source_ids, warnings, trace, is_complete


def _read_best(hits: Sequence[Hit], limit: int, *, removes_copies: bool) -> tuple[list[Passage], bool]:
    """Read the passages of the best hits.

    Args:
        hits: The hits, best first.
        limit: The maximum number of passages.
        removes_copies: Leave out passages that repeat a better one, and read further hits in their place.

    Returns:
        The passages, and whether all chunks of the hits still exist.
    """
    if not removes_copies:
        passages = read_passages(hits[:limit])
        return passages, len(passages) == len(hits[:limit])
    passages, is_complete = [], True
    for start in range(0, len(hits), limit):
        batch = hits[start : start + limit]
        batch_passages = read_passages(batch)
        is_complete = is_complete and len(batch_passages) == len(batch)
        passages = deduplicate([*passages, *batch_passages])
        if len(passages) >= limit:
            break
    return passages[:limit], is_complete


def _add_maxsim(
    question: str, passages: Sequence[Passage], known: Mapping[uuid.UUID, Sequence[float]]
) -> list[Passage]:
    """Add MaxSim to English passages, if the question is English: the token vectors come from an English model."""
    if not is_english(question):
        return list(passages)
    english = [passage for passage in passages if not is_foreign(passage.lang)]
    scored = {passage.chunk_id: passage for passage in add_maxsim(question, english, known)}
    return [scored.get(passage.chunk_id, passage) for passage in passages]


def with_ranks(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    """Return the passages with their positions, from 1, as ranks."""
    return tuple(passage.copy_with(rank=rank) for rank, passage in enumerate(passages, start=1))
