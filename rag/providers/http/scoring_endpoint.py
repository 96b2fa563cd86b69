"""Asks a model behind an HTTP endpoint for scores of texts: rerankers and entailment models."""

import functools
import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import httpx2

from rag.errors import ProviderFailed
from rag.providers.limits.long_request_limiter import LONG_REQUESTS
from rag.providers.limits.model_call_limiter import measure_model_call
from ragsite.http.bodies.json_types import JsonObject
from ragsite.http.outbound_connections import Deadline

from .bounded_responses import BoundedClient, read_all

# Longer texts are cut: no model of this kind reads more.
_MAX_CHARACTERS = 8_000


class ScoringEndpoint:
    """An address that receives texts as JSON and returns scores."""

    def __init__(
        self,
        address: str,
        *,
        model: str,
        api_key: str,
        timeout: float,
        operation: str,
        failure: type[ProviderFailed],
    ) -> None:
        """Configure an endpoint.

        Args:
            address: The complete address.
            model: The name of the model, for messages and measurements.
            api_key: The API key; empty if the endpoint needs none.
            timeout: The timeout in seconds, for all requests together.
            operation: What the model does, for traces.
            failure: The exception to raise.
        """
        self._address = address
        self._model = model
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._timeout = timeout
        self._operation = operation
        self._failure = failure

    def request_scores(
        self, requests: Iterable[JsonObject], read_scores: Callable[[Any, int], Sequence[float]], *, key: str
    ) -> list[float]:
        """Send requests one after the other.

        Args:
            requests: The bodies.
            read_scores: Returns the scores of a reply in the order of the texts, whose number is the second argument.
                It may raise what reading an unexpected value raises: ValueError, KeyError, TypeError, OverflowError.
            key: The key of a body whose value is the list of texts, one for each score.

        Returns:
            The scores of all texts, 0…1, in their order.

        Raises:
            ProviderFailed: If the model did not answer; its class is the configured one.
            TooManyLongRequests: If the account has too many long requests in progress.
        """
        deadline = Deadline(self._timeout)
        try:
            with LONG_REQUESTS.admit(), measure_model_call(self._operation, self._model):
                scores = [
                    score
                    for request in requests
                    for score in read_scores(self._send(request, deadline), len(request[key]))
                ]
            return _to_probabilities(scores)
        except httpx2.TimeoutException as error:
            raise self._failure(f"{self._model} did not answer in time.", is_timeout=True) from error
        except httpx2.HTTPStatusError as error:
            status = error.response.status_code
            raise self._failure(
                f"{self._model} refused the request ({status}).", is_rate_limited=status == 429
            ) from error
        except httpx2.HTTPError as error:
            raise self._failure(f"{self._model} cannot be reached.") from error
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise self._failure(f"{self._model} answered with something that cannot be read.") from error

    def _send(self, request: dict[str, object], deadline: Deadline) -> object:
        with self._client.stream(
            "POST", self._address, json=request, headers=self._headers, timeout=deadline
        ) as response:
            response.raise_for_status()
            return json.loads(read_all(response.iter_raw()))

    @functools.cached_property
    def _client(self) -> BoundedClient:
        return BoundedClient()


def cut_text(text: str) -> str:
    """Return the beginning of a text. An empty one, which some servers reject, becomes a dash."""
    return text[:_MAX_CHARACTERS].strip() or "-"


def read_indexed_scores(rows: Any, count: int, key: str = "score") -> list[float]:
    """Return the scores of rows that name the index of their text, in the order of the texts."""
    scores = {int(row["index"]): float(row[key]) for row in rows}
    return [scores[index] for index in range(count)]


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
