"""Step: question -> its vector in each scope, by the model of the scope."""

from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from django.conf import settings

from rag.errors import EmbeddingFailed
from rag.models import EmbeddingModel
from rag.pipeline.embed_question import embed_question, embed_question_tokens
from rag.providers import provider_factory
from rag.providers.base import Vectors
from rag.text.question_language import is_english
from rag.types import Question, SearchScope
from rag.types.token_vectors import TokenVectors
from ragsite.postgres import identity

logger = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class EmbeddedQuestion:
    """A question in one scope.

    Attributes:
        model_name: The name of the scope's model.
        vector: The vector of this model, float32 of shape (dimensions,); None if embedding failed.
        failure: Why embedding failed; None if it did not.
        token_vectors: The question's token vectors, if it is reranked by them and the model's chunks have signatures.
    """

    scope: SearchScope
    model_name: str
    vector: Vectors | None
    failure: EmbeddingFailed | None = None
    token_vectors: TokenVectors | None = None


def embed_in_scopes(question: Question, scopes: Sequence[SearchScope]) -> list[EmbeddedQuestion]:
    """Embed the question with the model of each scope.

    A model that fails does not end the search: other scopes may have a model of another organisation.
    """
    # Models do not belong to an organisation. They are read with the identity of the process, so that the caller's
    # identity is not set for the queries that follow.
    with identity.run_as(identity.of_process()):
        models = EmbeddingModel.objects.of_versions({scope.model_id: scope.model_version for scope in scopes})
    return [_embed_in_scope(question, scope, models[scope.model_id]) for scope in scopes]


def _embed_in_scope(question: Question, scope: SearchScope, model: EmbeddingModel) -> EmbeddedQuestion:
    try:
        vector = embed_question(question.text, model=model)
        return EmbeddedQuestion(scope, model.name, vector, token_vectors=_token_vectors(question, model))
    except EmbeddingFailed as error:
        logger.warning("question_not_embedded", model=model.name, code=error.code)
        return EmbeddedQuestion(scope, model.name, None, error)


def _token_vectors(question: Question, model: EmbeddingModel) -> TokenVectors | None:
    compares_tokens = question.rerank and is_english(question.text) and provider_factory.token_embedder(model)
    return embed_question_tokens(question.text) if compares_tokens else None


def multilingual_vector(question: Question, embedded: Sequence[EmbeddedQuestion]) -> Vectors | None:
    """Return the vector of a question that is not English by the multilingual model; None if it is not used."""
    if is_english(question.text):
        return None
    name = settings.RAG_MULTILINGUAL_MODEL
    return next((of_scope.vector for of_scope in embedded if of_scope.model_name == name), None)
