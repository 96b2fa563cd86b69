"""Gear: question → the chunks that are nearest by meaning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

import structlog

from rag.errors import EmbeddingFailed
from rag.models import EmbeddingModel
from rag.pipeline.embed import embed_question
from rag.providers import registry
from rag.providers.base import Vectors
from rag.types import Hit, Question, Scope
from ragsite.postgres import identity

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question inside one scope. vector: by the scope's model; None if that failed, which is `failure`."""

    scope: Scope
    model: EmbeddingModel
    vector: Vectors | None
    failure: EmbeddingFailed | None = None


def asked(question: Question, scopes: Sequence[Scope]) -> list[Asked]:
    """The question for each scope, embedded once for each embedding model."""
    with identity.acting(identity.of_process()):  # models are nobody's: who asks is stated for what follows
        models = EmbeddingModel.objects.in_bulk([scope.model_id for scope in scopes])
    return [_asked(question, scope, models[scope.model_id]) for scope in scopes]


def nearest(asked: Asked, k: int) -> list[Hit]:
    """The k nearest chunks of the scope, best first; none if the question could not be embedded. Raises
    IndexUnavailable."""
    return registry.vector_store(asked.model).search(asked.vector, asked.scope, k) if asked.vector is not None else []


def cosines(asked: Asked, chunk_ids: Sequence[UUID]) -> Mapping[UUID, float]:
    """Of these chunks; without those that cannot be compared. Raises IndexUnavailable."""
    if asked.vector is None:
        return {}
    found = registry.vector_store(asked.model).compare(asked.vector, asked.scope.model_id, chunk_ids)
    return {hit.chunk_id: hit.score for hit in found}


def _asked(question: Question, scope: Scope, model: EmbeddingModel) -> Asked:
    try:
        return Asked(scope, model, embed_question(question.text, model=model))
    except EmbeddingFailed as error:  # one organisation's broken model must not end everybody's search
        logger.warning("question_not_embedded", model=model.name, code=error.code)
        return Asked(scope, model, None, error)
