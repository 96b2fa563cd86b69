"""A question's way: embed → retrieve inside the scopes → passages."""

from collections.abc import Sequence

from rag.types import Question, Retrieval, Scope

from .retrieve import passages, retrieve


def find(question: Question, scopes: Sequence[Scope]) -> Retrieval:
    """The best passages of the scopes. Raises EmbeddingFailed, IndexUnavailable."""
    hits = retrieve(question, scopes)
    return Retrieval(
        passages=tuple(passages(hits[: question.top_k])),
        total_found=len(hits),
        source_ids=tuple(source_id for scope in scopes for source_id in scope.source_ids),
    )
