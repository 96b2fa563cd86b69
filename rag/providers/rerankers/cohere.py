"""Any endpoint that speaks Cohere's POST /rerank, or nearly: Cohere, Jina, Voyage, vLLM, llama.cpp, and Text Embeddings
Inference in a dialect of its own."""

import functools
import json
import math
import time
from collections.abc import Iterator, Sequence
from typing import Any

import httpx2

from rag.errors import RerankFailed
from rag.providers.http import bounded
from rag.types import Passage

_MOST_CHARACTERS = 8_000
# What Text Embeddings Inference takes in one request unless its operator allows more.
_MOST_TEXTS = 32


class CohereReranker:
    def __init__(self, *, name: str, base_url: str, api_key: str, timeout: float, is_tei: bool = False) -> None:
        """base_url: with the version, for example https://api.cohere.com/v2. timeout: seconds for all calls together.

        is_tei: the endpoint is Text Embeddings Inference.
        """
        self.name = name
        self._address = base_url.rstrip("/") + "/rerank"
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout = timeout
        self._is_tei = is_tei

    def rank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        # Voyage refuses empty texts.
        texts = [f"{passage.title}\n{passage.text}"[:_MOST_CHARACTERS].strip() or "-" for passage in passages]
        deadline = time.monotonic() + self._timeout
        try:
            return _shares(
                [score for request in self._requests(query, texts) for score in self._ask(request, deadline)]
            )
        except (httpx2.TimeoutException, TimeoutError) as error:
            raise RerankFailed(f"{self.name} did not answer in time.", is_timeout=True) from error
        except httpx2.HTTPStatusError as error:
            status = error.response.status_code
            raise RerankFailed(f"{self.name} refused the request ({status}).", is_rate_limited=status == 429) from error
        except httpx2.HTTPError as error:
            raise RerankFailed(f"{self.name} cannot be reached.") from error
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise RerankFailed(f"{self.name} answered something that is not understood.") from error

    def _requests(self, query: str, texts: Sequence[str]) -> Iterator[dict[str, Any]]:
        """All texts are to be judged, so none says how many: the field is called top_n, or top_k, and Voyage refuses
        what it does not know."""
        if not self._is_tei:
            yield {"model": self.name, "query": query, "documents": texts}
            return
        for start in range(0, len(texts), _MOST_TEXTS):
            yield {"query": query, "texts": texts[start : start + _MOST_TEXTS], "truncate": True}

    def _ask(self, request: dict[str, Any], deadline: float) -> list[float]:
        """The scores in the order of the texts."""
        with self._client.stream("POST", self._address, json=request, headers=self._headers) as response:
            response.raise_for_status()
            reply = json.loads(bounded.whole(bounded.until(deadline, response.iter_bytes())))
        if self._is_tei:
            scores = {int(row["index"]): float(row["score"]) for row in reply}
            return [scores[index] for index in range(len(request["texts"]))]
        rows = reply["data" if "data" in reply else "results"]  # Voyage's word, and everybody else's
        scores = {int(row["index"]): float(row["relevance_score"]) for row in rows}
        return [scores[index] for index in range(len(request["documents"]))]

    @functools.cached_property
    def _client(self) -> bounded.Client:
        return bounded.Client(timeout=self._timeout)


def _shares(scores: Sequence[float]) -> list[float]:
    """0…1 in the same order. Some servers give what the model says as it is: then its logistic function."""
    if not all(math.isfinite(score) for score in scores):
        raise ValueError
    if all(0 <= score <= 1 for score in scores):
        return list(scores)
    return [(1 + math.tanh(score / 2)) / 2 for score in scores]
