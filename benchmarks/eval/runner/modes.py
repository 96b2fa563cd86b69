"""The gears that are compared: how a question is retrieved and whether it is reranked."""

from rag.types import Filters, Mode, Question

# Candidates of a search; the documents among them are ranked by their best chunk.
TOP_K = 100
# What POST /api/rag/query retrieves unless it is told otherwise, and judges.
ASKED = 10

# Name → (mode, rerank). The last one is what users get unless they ask for another.
GEARS: dict[str, tuple[Mode, bool]] = {
    "dense": (Mode.DENSE, False),
    "lexical": (Mode.LEXICAL, False),
    "hybrid": (Mode.HYBRID, False),
    "rerank": (Mode.HYBRID, True),
}
DEFAULT = "rerank"


def question(text: str, gear: str = DEFAULT, top_k: int = TOP_K, filters: Filters | None = None) -> Question:
    mode, rerank = GEARS[gear]
    return Question(text=text, top_k=top_k, filters=filters or Filters(), rerank=rerank, mode=mode)
