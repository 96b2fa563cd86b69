"""A question's way: retrieve inside the scopes (dense, lexical, fuse) → passages → rerank."""

import dataclasses
from collections.abc import Sequence

from rag.types import Passage, Question, Retrieval, Scope

from .contrast import contrasted
from .passages import passages
from .rerank import RERANKED, rerank
from .retrieve import retrieve

# Each finds a document in mid-replacement only if it is replaced again at that very moment.
_ATTEMPTS = 10


def find(question: Question, scopes: Sequence[Scope]) -> Retrieval:
    """The best passages of the scopes. Raises EmbeddingFailed, IndexUnavailable, RerankFailed.

    A document may be replaced between finding chunks and reading them. Its old ones are gone then, and asking again
    finds the new: a reader sees the one or the other, and never nothing.
    """
    wanted = max(question.top_k, RERANKED) if question.rerank else question.top_k
    for _ in range(_ATTEMPTS):
        hits, warnings = retrieve(question, scopes)
        found = passages(hits[:wanted])
        if len(found) == len(hits[:wanted]):
            break
    if question.rerank and found:
        found, more = rerank(question, found)
        warnings += more
    return Retrieval(
        passages=_ranked(contrasted(found)[: question.top_k]),
        total_found=len(hits),
        source_ids=tuple(source_id for scope in scopes for source_id in scope.source_ids),
        warnings=warnings,
    )


def _ranked(found: Sequence[Passage]) -> tuple[Passage, ...]:
    return tuple(dataclasses.replace(passage, rank=rank) for rank, passage in enumerate(found, start=1))
