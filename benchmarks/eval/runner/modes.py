"""The retrieval modes that are compared: how passages are found and whether they are reranked."""

from rag.types import Filters, Mode, Question

# Candidates of a search; the documents among them are ranked by their best chunk.
TOP_K = 100
# The default number of passages of POST /api/rag/query, whose groundability is assessed.
DEFAULT_TOP_K = 10

# (mode, rerank) by name. The last one is the default for users.
MODES: dict[str, tuple[Mode, bool]] = {
    "dense": (Mode.DENSE, False),
    "lexical": (Mode.LEXICAL, False),
    "hybrid": (Mode.HYBRID, False),
    "rerank": (Mode.HYBRID, True),
}
DEFAULT = "rerank"


def question(text: str, name: str = DEFAULT, top_k: int = TOP_K, filters: Filters | None = None) -> Question:
    mode, rerank = MODES[name]
    return Question(text=text, top_k=top_k, filters=filters or Filters(), rerank=rerank, mode=mode)
