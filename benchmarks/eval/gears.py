"""The gears that are compared: how a question is retrieved and whether it is reranked."""

from typing import Any

from rag import types
from rag.types import Filters, Question

# Candidates of a search; the documents among them are ranked by their best chunk.
TOP_K = 100
# What POST /api/rag/query retrieves unless it is told otherwise, and judges.
ASKED = 10

HAS_MODES = "mode" in Question.__dataclass_fields__
# Name → (mode, rerank). The last one is what users get unless they ask for another.
GEARS: dict[str, tuple[str, bool]] = (
    {"dense": ("dense", False), "lexical": ("lexical", False), "hybrid": ("hybrid", False), "rerank": ("hybrid", True)}
    if HAS_MODES
    else {"dense": ("", False), "rerank": ("", True)}
)
DEFAULT = "rerank"


def question(text: str, gear: str = DEFAULT, top_k: int = TOP_K, filters: Filters | None = None) -> Question:
    mode, rerank = GEARS[gear]
    fields: dict[str, Any] = {"text": text, "top_k": top_k, "filters": filters or Filters(), "rerank": rerank}
    if HAS_MODES:
        fields["mode"] = getattr(types, "Mode")(mode)  # noqa: B009
    return Question(**fields)
