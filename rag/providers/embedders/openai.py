"""Embeds with any endpoint that has OpenAI's embeddings API: OpenAI, Ollama, vLLM, LM Studio, TEI, a gateway."""

import functools
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import httpx2
import numpy as np

from rag.errors import EmbeddingFailed
from rag.providers.base import Vectors
from rag.providers.http import backoff, bounded_responses
from rag.providers.http.openai_client import open_client, translate_error
from rag.providers.limits.model_call_limiter import EMBEDDER_CALLS

if TYPE_CHECKING:
    import openai

# A number has about 25 characters, and some servers indent each of them.
_MAX_NUMBER_BYTES = 64
_MAX_TEXTS_PER_REQUEST = 128
# Requests of a call are sent together if the endpoint has answered the latest one within so long. A slow endpoint would
# answer them one after the other, and the last ones perhaps after the timeout.
_MAX_REQUESTS_AT_ONCE, _MAX_QUICK_SECONDS = 4, 1.0


class OpenAIEmbedder:
    """Embeds with an endpoint, and retries after short pauses: rate limits, lost connections and server errors.

    Timeouts are not retried. Failures whose Retry-After is more than 5 seconds are not retried either; the error has
    `retry_after_seconds`.
    """

    batch_size = _MAX_TEXTS_PER_REQUEST * _MAX_REQUESTS_AT_ONCE

    def __init__(
        self, *, model: str, dimensions: int, base_url: str, api_key_variable: str, timeout: float, max_retries: int
    ) -> None:
        """Configure the endpoint. `timeout` is in seconds, for one attempt; at most `max_retries` attempts follow."""
        self.dimensions = dimensions
        self._model = model
        self._base_url = base_url
        self._api_key_variable = api_key_variable
        self._timeout = timeout
        self._max_retries = max_retries
        self._answers_quickly = False

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        size = _MAX_TEXTS_PER_REQUEST
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        with EMBEDDER_CALLS.call(self._model, EmbeddingFailed):
            vectors = np.concatenate(self._embed_batches(batches))
        normalized: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return normalized

    def _embed_batches(self, batches: Sequence[Sequence[str]]) -> list[Vectors]:
        """Embed each batch with a request: one after the other until one is answered quickly, then several at once.

        After an error they are sent one after the other again.
        """
        vectors: list[Vectors] = []
        while len(vectors) < len(batches) and not (self._answers_quickly and len(batches) - len(vectors) > 1):
            vectors.append(self._embed_batch(batches[len(vectors)]))
        if remaining := batches[len(vectors) :]:
            with ThreadPoolExecutor(_MAX_REQUESTS_AT_ONCE) as executor:
                vectors += executor.map(self._embed_batch, remaining)
        return vectors

    def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        for failures in range(1, self._max_retries + 1):
            try:
                return self._request(texts)
            except EmbeddingFailed as error:
                retry_after_seconds = error.retry_after_seconds
                is_too_long = (
                    retry_after_seconds is not None
                    and retry_after_seconds > backoff.MAX_RETRY_AFTER_WITHIN_CALL_SECONDS
                )
                if not error.is_retryable or error.is_timeout or is_too_long:
                    raise
                time.sleep(
                    backoff.EMBEDDING_CALL.pause_seconds(failures)
                    if retry_after_seconds is None
                    else retry_after_seconds
                )
        return self._request(texts)

    def _request(self, texts: Sequence[str]) -> Vectors:
        """Request the vectors once, and note whether the answer came quickly."""
        started, self._answers_quickly = time.monotonic(), False
        vectors = self._read_vectors(texts)
        self._answers_quickly = time.monotonic() - started < _MAX_QUICK_SECONDS
        return vectors

    def _read_vectors(self, texts: Sequence[str]) -> Vectors:
        """Send a request, and check the number and length of the vectors in the answer."""
        import openai

        max_bytes = len(texts) * self.dimensions * _MAX_NUMBER_BYTES + bounded_responses.MAX_BYTES
        try:
            # Most servers reject empty inputs, and many do not know base64, the client library's default.
            # The raw response is read, because the client library would validate every number of every vector.
            with self._client.embeddings.with_streaming_response.create(
                model=self._model, input=[text or " " for text in texts], encoding_format="float"
            ) as response:
                content = bounded_responses.read_all(response.http_response.iter_raw(), max_bytes=max_bytes)
            entries = sorted(json.loads(content)["data"], key=lambda entry: entry["index"])
            vectors = np.array([entry["embedding"] for entry in entries], np.float32)
        except httpx2.TimeoutException as error:
            raise EmbeddingFailed(f"{self._model} did not answer in time.", is_timeout=True) from error
        except httpx2.HTTPError as error:
            raise EmbeddingFailed(f"{self._model} broke off its answer.") from error
        except openai.APIError as error:
            raise translate_error(error, self._model, EmbeddingFailed) from error
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError, RecursionError) as error:
            raise EmbeddingFailed(f"The endpoint of {self._model} did not answer with embeddings.") from error
        if vectors.shape != (len(texts), self.dimensions) or not np.isfinite(vectors).all():
            raise EmbeddingFailed(
                f"{self._model} answered with vectors of shape {vectors.shape}; "
                f"({len(texts)}, {self.dimensions}) of finite numbers is needed.",
                is_retryable=False,
            )
        return vectors

    @functools.cached_property
    def _client(self) -> "openai.OpenAI":
        key = ""
        if self._api_key_variable:  # no other environment variable may be sent to an endpoint
            has_key_suffix = self._api_key_variable.endswith("_API_KEY")
            key = os.environ.get(self._api_key_variable, "") if has_key_suffix else ""
            if not key:
                raise EmbeddingFailed(
                    f"Set {self._api_key_variable} to the API key of {self._model}.", is_retryable=False
                )
        guarded = bool(self._base_url)  # an administrator has set it in the model's row; otherwise the operator has
        return open_client(api_key=key, base_url=self._base_url, guarded=guarded, timeout=self._timeout, max_retries=0)
