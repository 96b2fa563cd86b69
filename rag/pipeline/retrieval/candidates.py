"""Step: question → the best chunks of the open sources, in one of three gears."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from django.conf import settings

from rag.providers.stores.pgvector import lexical
from rag.types import SearchTrace, Hit, Mode, Question

from . import embed_query as dense
from .embed_query import Asked
from .fuse import mixed, spread

# How many candidates each model's sources contribute, by meaning and by words, before the cut to top_k.
CANDIDATES = 100
WARNING = "EMBEDDING_FAILED"
# A cosine that is worth something with any model: of several, one whose sources hold nothing near does not rank as high
# as the others.
_GOOD = 0.5


def retrieve(question: Question, asked: Sequence[Asked]) -> tuple[list[Hit], tuple[str, ...], SearchTrace]:
    """Candidates from every scope, best first, warnings, and the way to them. asked: the question for each scope.

    Sources whose model fails are searched by words alone, where words are asked for, and left out otherwise: a warning.
    Raises EmbeddingFailed if all models fail, unless words alone are asked for, and IndexUnavailable.
    """
    mode = mode_of(question)
    failures = [each.failure for each in asked if each.failure]
    if failures and len(failures) == len(asked) and mode != Mode.LEXICAL:
        raise failures[0]
    wanted = lexical.wanted(question.text, [source_id for each in asked for source_id in each.scope.source_ids])
    drawn = [_candidates(each, wanted, mode, max(CANDIDATES, question.top_k)) for each in asked]
    found = [each.cosines for each in drawn]
    hits = _ranked(mode, found, lexical.compare(wanted, [chunk_id for each in found for chunk_id in each]))
    if question.min_score > 0:
        hits = [hit for hit in hits if hit.score >= question.min_score]
    funnel = SearchTrace(
        by_meaning=tuple(chunk_id for each in drawn for chunk_id in each.by_meaning),
        by_words=tuple(chunk_id for each in drawn for chunk_id in each.by_words),
        above_threshold=tuple(hit.chunk_id for hit in hits),
    )
    return hits, (WARNING,) if failures else (), funnel


def mode_of(question: Question) -> Mode:
    return question.mode or Mode(settings.RAG_RETRIEVAL_MODE)


class _Drawn(NamedTuple):
    """cosines: of each candidate, 0 if the question could not be embedded."""

    cosines: dict[UUID, float]
    by_meaning: Sequence[UUID]
    by_words: Sequence[UUID]


def _candidates(asked: Asked, wanted: lexical.Wanted, mode: Mode, k: int) -> _Drawn:
    near = {} if mode == Mode.LEXICAL else {hit.chunk_id: hit.score for hit in dense.nearest(asked, k)}
    by_words = [] if mode == Mode.DENSE else lexical.search(wanted, asked.scope, k)
    others = [chunk_id for chunk_id in by_words if chunk_id not in near]
    cosines = dense.cosines(asked, others) if others else {}
    return _Drawn({**near, **{chunk_id: cosines.get(chunk_id, 0.0) for chunk_id in others}}, [*near], by_words)


def _ranked(mode: Mode, found: Sequence[Mapping[UUID, float]], matches: Mapping[UUID, lexical.Match]) -> list[Hit]:
    """Best first; equal ones by their id."""
    ids = [chunk_id for each in found for chunk_id in each]
    cosines = [cosine for each in found for cosine in each.values()]
    scores = [matches[chunk_id].score for chunk_id in ids]
    if mode == Mode.DENSE:
        relevances = cosines
    elif mode == Mode.LEXICAL:
        most = max(scores, default=0.0) or 1.0
        relevances = [score / most for score in scores]
    else:
        # Cosines of two models have nothing in common; rarity is the same for all.
        ends = (0.0, _GOOD) if len(found) > 1 else ()
        scaled = [spread([*each.values(), *ends])[: len(each)] for each in found]
        relevances = mixed([value for each in scaled for value in each], spread(scores))
    hits = [
        Hit(chunk_id, cosine, relevance, matches[chunk_id].coverage)
        for chunk_id, cosine, relevance in zip(ids, cosines, relevances, strict=True)
    ]
    return sorted(hits, key=lambda hit: (-(hit.relevance or 0.0), hit.chunk_id))
