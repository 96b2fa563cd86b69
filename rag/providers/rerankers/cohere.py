"""Any endpoint that speaks Cohere's POST /rerank: Cohere, Jina, Voyage, vLLM, Text Embeddings Inference."""

import functools
import json
import time
from collections.abc import Sequence

import httpx2

from rag.errors import RerankFailed
from rag.providers import bounded
from rag.types import Passage

_MOST_CHARACTERS = 8_000


class CohereReranker:
    def __init__(self, *, name: str, base_url: str, api_key: str, timeout: float) -> None:
        """base_url: with the version, for example https://api.cohere.com/v2. timeout: seconds for one call."""
        self.name = name
        self._address = base_url.rstrip("/") + "/rerank"
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout = timeout

    def rank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        texts = [f"{passage.title}\n{passage.text}"[:_MOST_CHARACTERS] for passage in passages]
        deadline = time.monotonic() + self._timeout
        request = {"model": self.name, "query": query, "documents": texts, "top_n": len(texts)}
        try:
            with self._client.stream("POST", self._address, json=request, headers=self._headers) as response:
                response.raise_for_status()
                content = bounded.whole(bounded.until(deadline, response.iter_bytes()))
            scores = {int(each["index"]): float(each["relevance_score"]) for each in json.loads(content)["results"]}
            return [min(1.0, max(0.0, scores[index])) for index in range(len(texts))]
        except (httpx2.TimeoutException, TimeoutError) as error:
            raise RerankFailed(f"{self.name} did not answer in time.", timed_out=True) from error
        except httpx2.HTTPStatusError as error:
            status = error.response.status_code
            raise RerankFailed(f"{self.name} refused the request ({status}).", busy=status == 429) from error
        except httpx2.HTTPError as error:
            raise RerankFailed(f"{self.name} cannot be reached.") from error
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise RerankFailed(f"{self.name} answered something that is not understood.") from error

    @functools.cached_property
    def _client(self) -> bounded.Client:
        return bounded.Client(timeout=self._timeout)
