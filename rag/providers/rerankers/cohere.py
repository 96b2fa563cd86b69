"""Rerankers behind Cohere's rerank API or a similar endpoint.

Cohere, Jina, Voyage, vLLM and llama.cpp share the format of requests; Text Embeddings Inference (TEI) has its own.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from rag.errors import RerankFailed
from rag.providers.http.scoring_endpoint import ScoringEndpoint, cut_text, read_indexed_scores
from rag.types import Passage

# Maximum number of texts that TEI accepts in one request, unless its operator allows more.
_MAX_TEI_TEXTS = 32


class CohereReranker:
    """Scores passages with an endpoint."""

    def __init__(self, *, name: str, base_url: str, api_key: str, timeout: float, is_tei: bool = False) -> None:
        """Configure an endpoint.

        Args:
            name: The name of the model.
            base_url: The address with the version, for example https://api.cohere.com/v2.
            api_key: The API key; empty if the endpoint needs none.
            timeout: The timeout in seconds, for all requests together.
            is_tei: Whether the endpoint is TEI.
        """
        self.name = name
        self._is_tei = is_tei
        self._endpoint = ScoringEndpoint(
            base_url.rstrip("/") + "/rerank",
            model=name,
            api_key=api_key,
            timeout=timeout,
            operation="rerank",
            failure=RerankFailed,
        )

    def rank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        texts = [cut_text(f"{passage.title}\n{passage.text}") for passage in passages]
        requests = self._requests(query, texts)
        return self._endpoint.request_scores(requests, self._read_scores, key="texts" if self._is_tei else "documents")

    def _requests(self, query: str, texts: Sequence[str]) -> Iterator[dict[str, object]]:
        """Yield the bodies of the requests.

        The number of results is not limited, because all are needed. The field for it is top_n or top_k, and Voyage
        rejects unknown fields.
        """
        if not self._is_tei:
            yield {"model": self.name, "query": query, "documents": texts}
            return
        for start in range(0, len(texts), _MAX_TEI_TEXTS):
            yield {"query": query, "texts": texts[start : start + _MAX_TEI_TEXTS], "truncate": True}

    def _read_scores(self, reply: Any, count: int) -> list[float]:
        if self._is_tei:
            return read_indexed_scores(reply, count)
        results = reply["data" if "data" in reply else "results"]  # Voyage's key, or the key of all others
        return read_indexed_scores(results, count, key="relevance_score")
