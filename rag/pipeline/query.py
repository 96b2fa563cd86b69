"""A question's way: embed → retrieve inside the scopes → passages."""

from collections.abc import Sequence

from rag.types import Question, Retrieval, Scope

from .retrieve import passages, retrieve

# Each finds a document in mid-replacement only if it is replaced again at that very moment.
_ATTEMPTS = 10


def find(question: Question, scopes: Sequence[Scope]) -> Retrieval:
    """The best passages of the scopes. Raises EmbeddingFailed, IndexUnavailable.

    A document may be replaced between finding chunks and reading them. Its old ones are gone then, and asking again
    finds the new: a reader sees the one or the other, and never nothing.
    """
    for _ in range(_ATTEMPTS):
        hits = retrieve(question, scopes)
        found = passages(hits[: question.top_k])
        if len(found) == len(hits[: question.top_k]):
            break
    return Retrieval(
        passages=tuple(found),
        total_found=len(hits),
        source_ids=tuple(source_id for scope in scopes for source_id in scope.source_ids),
    )
