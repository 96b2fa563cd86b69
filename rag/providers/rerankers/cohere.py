"""Rerankers behind Cohere's rerank API or a similar endpoint.

Cohere, Jina, Voyage, vLLM and llama.cpp share the format of requests; Text Embeddings Inference (TEI) has its own.
"""

import functools
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import httpx2

from rag.errors import RerankFailed
from rag.providers.http import bounded_responses
from rag.providers.limits.long_request_limiter import LONG_REQUESTS
from rag.providers.limits.model_call_limiter import measure_model_call
from rag.types import Passage
from ragsite.http.outbound_connections import Deadline

_MAX_CHARACTERS = 8_000
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
        self._address = base_url.rstrip("/") + "/rerank"
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout = timeout
        self._is_tei = is_tei

    def rank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        # Voyage rejects empty texts.
        texts = [f"{passage.title}\n{passage.text}"[:_MAX_CHARACTERS].strip() or "-" for passage in passages]
        deadline = Deadline(self._timeout)
        try:
            with LONG_REQUESTS.admit(), measure_model_call("rerank", self.name):
                scores = [score for request in self._requests(query, texts) for score in self._send(request, deadline)]
            return _to_probabilities(scores)
        except httpx2.TimeoutException as error:
            raise RerankFailed(f"{self.name} did not answer in time.", is_timeout=True) from error
        except httpx2.HTTPStatusError as error:
            status = error.response.status_code
            raise RerankFailed(f"{self.name} refused the request ({status}).", is_rate_limited=status == 429) from error
        except httpx2.HTTPError as error:
            raise RerankFailed(f"{self.name} cannot be reached.") from error
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise RerankFailed(f"{self.name} answered with something that cannot be read.") from error

    def _requests(self, query: str, texts: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the bodies of the requests.

        The number of results is not limited, because all are needed. The field for it is top_n or top_k, and Voyage
        rejects unknown fields.
        """
        if not self._is_tei:
            yield {"model": self.name, "query": query, "documents": texts}
            return
        for start in range(0, len(texts), _MAX_TEI_TEXTS):
            yield {"query": query, "texts": texts[start : start + _MAX_TEI_TEXTS], "truncate": True}

    def _send(self, request: dict[str, Any], deadline: Deadline) -> list[float]:
        """Return the scores in the order of the texts."""
        with self._client.stream(
            "POST", self._address, json=request, headers=self._headers, timeout=deadline
        ) as response:
            response.raise_for_status()
            reply = json.loads(bounded_responses.read_all(response.iter_raw()))
        if self._is_tei:
            scores = {int(result["index"]): float(result["score"]) for result in reply}
            return [scores[index] for index in range(len(request["texts"]))]
        results = reply["data" if "data" in reply else "results"]  # Voyage's key, or the key of all others
        scores = {int(result["index"]): float(result["relevance_score"]) for result in results}
        return [scores[index] for index in range(len(request["documents"]))]

    @functools.cached_property
    def _client(self) -> bounded_responses.BoundedClient:
        return bounded_responses.BoundedClient()


def _to_probabilities(scores: Sequence[float]) -> list[float]:
    """Return scores of 0…1 in the same order. Logits, which some servers return, go through the logistic function.

    Raises:
        ValueError: If a score is no finite number.
    """
    if not all(math.isfinite(score) for score in scores):
        raise ValueError
    if all(0 <= score <= 1 for score in scores):
        return list(scores)
    return [(1 + math.tanh(score / 2)) / 2 for score in scores]
