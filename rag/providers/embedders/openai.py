"""Any endpoint that speaks OpenAI's POST /embeddings: OpenAI, Ollama, vLLM, LM Studio, TEI, a gateway."""

import functools
import json
import os
import random
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from rag.errors import EmbeddingFailed
from rag.providers.base import Vectors
from rag.providers.http.concurrency import EMBEDDERS
from rag.providers.http.openai_client import opened, translated

# Seconds: a longer pause between two attempts is left to the caller, who has better things to do meanwhile.
_LONGEST_PAUSE = 5.0

if TYPE_CHECKING:
    import openai


class OpenAIEmbedder:
    """Rate limits, lost connections and server errors are tried again after short pauses, Retry-After honoured.

    What would take long is not waited for here: a time-out is not tried again, nor what asks for a pause of more than 5
    seconds. The error says what was asked for (retry_after).
    """

    batch_size = 128

    def __init__(
        self, *, model: str, dimensions: int, base_url: str, api_key_variable: str, timeout: float, max_retries: int
    ) -> None:
        """timeout: seconds for one attempt. max_retries: attempts after the first."""
        self.dimensions = dimensions
        self._model = model
        self._base_url = base_url
        self._api_key_variable = api_key_variable
        self._timeout = timeout
        self._max_retries = max_retries

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        batches = [texts[start : start + self.batch_size] for start in range(0, len(texts), self.batch_size)]
        with EMBEDDERS.one(self._model, EmbeddingFailed):
            vectors = np.concatenate([self._embed_batch(batch) for batch in batches])
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)

    def _embed_batch(self, texts: Sequence[str]) -> Vectors:
        for attempt in range(self._max_retries):
            try:
                return self._asked(texts)
            except EmbeddingFailed as error:
                # Half a second, one, two …, up to half longer.
                pause = error.retry_after
                pause = 0.5 * 2**attempt * random.uniform(1, 1.5) if pause is None else pause
                if not error.is_retryable or error.is_timeout or pause > _LONGEST_PAUSE:
                    raise
                time.sleep(pause)
        return self._asked(texts)

    def _asked(self, texts: Sequence[str]) -> Vectors:
        """One attempt."""
        import openai

        try:
            # Empty inputs are an error to most servers, and base64, the client's default, is unknown to many.
            # Raw: the client library would look at every number of every vector, which costs more than all the rest.
            reply = self._client.embeddings.with_raw_response.create(
                model=self._model, input=[text or " " for text in texts], encoding_format="float"
            )
            rows = sorted(json.loads(reply.content)["data"], key=lambda row: row["index"])
            vectors = np.array([row["embedding"] for row in rows], np.float32)
        except openai.APIError as error:
            raise translated(error, self._model, EmbeddingFailed) from error
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            raise EmbeddingFailed(f"The endpoint of {self._model} did not answer with embeddings.") from error
        if vectors.shape != (len(texts), self.dimensions) or not np.isfinite(vectors).all():
            raise EmbeddingFailed(
                f"{self._model} answered with vectors of shape {vectors.shape}, not ({len(texts)}, {self.dimensions}).",
                is_retryable=False,
            )
        return vectors

    @functools.cached_property
    def _client(self) -> "openai.OpenAI":
        key = ""
        if self._api_key_variable:  # nothing else of this process's environment may leave it as somebody's key
            named_right = self._api_key_variable.endswith("_API_KEY")
            key = os.environ.get(self._api_key_variable, "") if named_right else ""
            if not key:
                raise EmbeddingFailed(
                    f"Set {self._api_key_variable} to the API key of {self._model}.", is_retryable=False
                )
        guarded = bool(self._base_url)  # an administrator's word; without one it is the environment's
        return opened(api_key=key, base_url=self._base_url, guarded=guarded, timeout=self._timeout, max_retries=0)
