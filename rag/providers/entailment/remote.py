"""Entailment models behind Text Embeddings Inference (TEI) or the score API of vLLM."""

from collections.abc import Sequence
from typing import Any

from rag.errors import EntailmentFailed
from rag.providers.http.scoring_endpoint import ScoringEndpoint, cut_text, read_indexed_scores

# How to ask: TEI's predictions for models with several labels, vLLM's score API for models with one score.
TEI, SCORE = "tei", "score"
# Maximum number of pairs that TEI accepts in one request, unless its operator allows more.
_MAX_PAIRS = 32
# The labels, in lower case, whose score is the probability: of entailment models, of models that detect hallucinations.
_LABELS = ("entailment", "consistent", "supported")


class RemoteEntailmentModel:
    """Asks an endpoint whether texts entail others."""

    def __init__(self, *, name: str, base_url: str, api_key: str, timeout: float, dialect: str = TEI) -> None:
        """Configure an endpoint.

        Args:
            name: The name of the model.
            base_url: The address before /predict or /score.
            api_key: The API key; empty if the endpoint needs none.
            timeout: The timeout in seconds, for all requests together.
            dialect: TEI or SCORE.
        """
        self.name = name
        self._is_tei = dialect == TEI
        self._endpoint = ScoringEndpoint(
            base_url.rstrip("/") + ("/predict" if self._is_tei else "/score"),
            model=name,
            api_key=api_key,
            timeout=timeout,
            operation="entailment",
            failure=EntailmentFailed,
        )

    def entail(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        texts = [[cut_text(premise), cut_text(hypothesis)] for premise, hypothesis in pairs]
        batches = [texts[start : start + _MAX_PAIRS] for start in range(0, len(texts), _MAX_PAIRS)]
        if self._is_tei:
            requests = [{"inputs": batch, "truncate": True} for batch in batches]
            return self._endpoint.request_scores(requests, _read_predictions, key="inputs")
        requests = [
            {
                "model": self.name,
                "text_1": [premise for premise, _ in batch],
                "text_2": [hypothesis for _, hypothesis in batch],
            }
            for batch in batches
        ]
        return self._endpoint.request_scores(requests, _read_scores, key="text_2")


def _read_predictions(reply: Any, count: int) -> list[float]:
    """Return for each pair the score of the label that means entailment; a number in its place is not guessed."""
    if len(reply) != count:
        raise ValueError
    scores = [{str(row["label"]).lower(): float(row["score"]) for row in predictions} for predictions in reply]
    label = next((label for label in _LABELS if label in scores[0]), _LABELS[0])
    return [of_pair[label] for of_pair in scores]


def _read_scores(reply: Any, count: int) -> list[float]:
    return read_indexed_scores(reply["data"], count)
