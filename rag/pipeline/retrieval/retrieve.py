"""A question's way: retrieve inside the scopes (dense, lexical, fuse) → distinct passages → compare → rerank."""

import dataclasses
from collections.abc import Sequence

from django.db import transaction

from rag.types import Hit, Mode, Passage, Question, Retrieval, Scope

from . import dense
from .candidates import mode_of, retrieve
from .deduplicate import distinct
from .late_interaction import compare
from .passages import passages
from .rerank import RERANKED, rerank
from .standout_score import contrasted

# Each finds a document in mid-replacement only if it is replaced again at that very moment.
_ATTEMPTS = 10


def find(question: Question, scopes: Sequence[Scope]) -> Retrieval:
    """The best passages of the scopes. Raises EmbeddingFailed, IndexUnavailable, RerankFailed.

    A document may be replaced between finding chunks and reading them. Its old ones are gone then, and asking again
    finds the new: a reader sees the one or the other, and never nothing.
    """
    wanted = max(question.top_k, RERANKED) if question.rerank else question.top_k
    asked = dense.asked(question, scopes)
    for _ in range(_ATTEMPTS):
        with transaction.atomic():  # who asks is told to the database once
            hits, warnings, funnel = retrieve(question, asked)
            found, were_there = _read(hits, wanted, copies=not question.distinct or mode_of(question) == Mode.DENSE)
            if question.rerank:
                found[:RERANKED] = compare(question.text, found[:RERANKED])
        if were_there:
            break
    funnel = dataclasses.replace(funnel, distinct=tuple(passage.chunk_id for passage in found))
    if question.rerank and found:  # not inside: a reranker may be somebody else's, far away
        found, more = rerank(question, found)
        warnings += more
    return Retrieval(
        passages=_ranked(contrasted(found, question.top_k)),
        total_found=len(hits),
        source_ids=tuple(source_id for scope in scopes for source_id in scope.source_ids),
        warnings=warnings,
        funnel=dataclasses.replace(funnel, ranked=tuple(passage.chunk_id for passage in found)),
    )


def _read(hits: Sequence[Hit], wanted: int, *, copies: bool) -> tuple[list[Passage], bool]:
    """The best so many, and whether all that were looked at are still there. copies: they count as any others."""
    if copies:
        found = passages(hits[:wanted])
        return found, len(found) == len(hits[:wanted])
    found, were_there = [], True
    for first in range(0, len(hits), wanted):
        page = passages(hits[first : first + wanted])
        were_there = were_there and len(page) == len(hits[first : first + wanted])
        found = distinct([*found, *page])
        if len(found) >= wanted:
            break
    return found[:wanted], were_there


def _ranked(found: Sequence[Passage]) -> tuple[Passage, ...]:
    return tuple(dataclasses.replace(passage, rank=rank) for rank, passage in enumerate(found, start=1))
