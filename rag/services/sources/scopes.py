"""Scopes of a search: which sources are searched with which embedding model (docs/decisions/0046-languages.md)."""

import dataclasses
import uuid
from collections import defaultdict

from django.conf import settings

from rag.models.embedding_models import ENGLISH_MODELS
from rag.models.sources import DataSourceQuerySet
from rag.services.reembedding import second_model
from rag.text.question_language import FOREIGN_LANGUAGES, is_english, is_foreign
from rag.types import Filters, Question, SearchScope


def build_scopes(sources: DataSourceQuerySet, question: Question) -> list[SearchScope]:
    """Group sources into scopes by embedding model, because vectors of two models cannot be compared.

    A source with vectors of the multilingual model is searched with it if the question is not English. An English
    question also uses it for documents in other languages. A question that is not English requests these vectors for
    sources without them.

    Args:
        sources: Sources that the caller may query.
        question: The question, whose filters apply to every scope.
    """
    rows = list(
        sources.order_by("embedding_model_id", "pk").values_list(
            "pk",
            "embedding_model_id",
            "embedding_model__name",
            "second_model_id",
            "second_model_ready_at",
            "organization_id",
        )
    )
    in_english = not rows or is_english(question.text)
    groups: dict[tuple[uuid.UUID, Filters], list[uuid.UUID]] = defaultdict(list)
    missing: list[uuid.UUID] = []
    for pk, model_id, model_name, second_id, ready_at, _ in rows:
        is_english_only = model_name in ENGLISH_MODELS and bool(settings.RAG_MULTILINGUAL_MODEL)
        if not (is_english_only and second_id and ready_at):
            groups[model_id, question.filters].append(pk)
            if is_english_only and second_id is None:
                missing.append(pk)
        elif not in_english:
            groups[second_id, question.filters].append(pk)
        else:
            groups[model_id, question.filters].append(pk)
            if foreign := _only_foreign(question.filters):
                groups[second_id, foreign].append(pk)
    if missing and not in_english:
        second_model.request(missing)
    organization_ids = tuple({row[-1] for row in rows})
    return [
        SearchScope(source_ids=tuple(source_ids), model_id=model_id, filters=filters, organization_ids=organization_ids)
        for (model_id, filters), source_ids in groups.items()
    ]


def _only_foreign(filters: Filters) -> Filters | None:
    """Return the filters for documents in other languages; None if no such document can match."""
    langs = tuple(lang for lang in filters.langs if is_foreign(lang)) if filters.langs else FOREIGN_LANGUAGES
    return dataclasses.replace(filters, langs=langs) if langs else None
