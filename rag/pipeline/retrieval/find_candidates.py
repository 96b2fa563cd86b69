"""Step: embedded question -> ranked candidates of all scopes."""

import itertools
import uuid
from collections.abc import Iterable, Sequence

from django.conf import settings

from rag.providers import provider_factory
from rag.providers.stores.search_types import ScopeQuery
from rag.text.question_language import is_english
from rag.text.words import content_words
from rag.types import Hit, Mode, Question, SearchTrace

from .fuse_dense_and_lexical import fuse
from .query.embed_in_scopes import EmbeddedQuestion
from .reranking.other_languages import admit_nearest, find_multilingual
from .reranking.rerank import MAX_RERANKED

# How many candidates the dense and the lexical search of each scope contribute, before the cut to top_k.
MAX_CANDIDATES = 100
WARNING = "EMBEDDING_FAILED"
# Fewer passages were returned than requested, although the scope may have more.
UNDER_FILLED = "UNDER_FILLED"


def find_candidates(
    question: Question, embedded: Sequence[EmbeddedQuestion]
) -> tuple[list[Hit], tuple[str, ...], SearchTrace]:
    """Search every scope and rank the candidates.

    A scope whose model failed is searched by words alone, with a warning, unless the mode is dense.

    Args:
        question: The question.
        embedded: The question, embedded for each scope.

    Returns:
        The hits, best first; warnings; and the candidates that each search found.

    Raises:
        EmbeddingFailed: If all models failed, and the mode is not lexical.
        IndexUnavailable: If the store does not answer.
    """
    mode = retrieval_mode(question)
    failures = [of_scope.failure for of_scope in embedded if of_scope.failure]
    if failures and len(failures) == len(embedded) and mode != Mode.LEXICAL:
        raise failures[0]
    candidates_by_scope = provider_factory.chunk_store().search(
        question.text,
        [ScopeQuery(of_scope.scope, of_scope.vector, of_scope.token_vectors) for of_scope in embedded],
        mode=mode,
        limit=max(MAX_CANDIDATES, question.top_k),
    )
    word_count = len(content_words(question.text, "en"))
    hits = fuse(mode, candidates_by_scope, is_english=is_english(question.text), word_count=word_count)
    multilingual = find_multilingual(question, embedded)
    if multilingual is not None:
        hits = admit_nearest(hits, candidates_by_scope[multilingual].dense_ids, MAX_RERANKED)
    if question.min_score > 0:
        hits = [hit for hit in hits if hit.score >= question.min_score]
    trace = SearchTrace(
        dense=_distinct(candidates.dense_ids for candidates in candidates_by_scope),
        lexical=_distinct(candidates.lexical_ids for candidates in candidates_by_scope),
        above_threshold=tuple(hit.chunk_id for hit in hits),
    )
    return hits, (WARNING,) if failures else (), trace


def may_have_more_candidates(trace: SearchTrace, question: Question) -> bool:
    """Return whether the dense or the lexical search has found as many candidates as it may return."""
    return max(len(trace.dense), len(trace.lexical)) >= max(MAX_CANDIDATES, question.top_k)


def _distinct(ids_by_scope: Iterable[Sequence[uuid.UUID]]) -> tuple[uuid.UUID, ...]:
    return tuple(dict.fromkeys(itertools.chain.from_iterable(ids_by_scope)))


def retrieval_mode(question: Question) -> Mode:
    """Return the question's retrieval mode, or the configured one (RAG_RETRIEVAL_MODE)."""
    return question.mode or Mode(settings.RAG_RETRIEVAL_MODE)
