"""Scopes of a search: which sources are searched with which embedding model (docs/decisions/0046-languages.md)."""

import dataclasses
import uuid
from collections import defaultdict

from django.conf import settings

from rag.models.embedding_models import ENGLISH_MODELS, model_version
from rag.models.search import granted_scopes
from rag.models.search.granted_scopes import SearchedModel
from rag.models.sources import DataSourceQuerySet, QueryableSources
from rag.services.reembedding import second_model
from rag.text.question_language import FOREIGN_LANGUAGES, has_foreign_words, is_english, is_foreign
from rag.types import Filters, ModelUse, Question, SearchScope

# The key of a scope: its embedding model and its filters.
_Key = tuple[uuid.UUID, Filters]
# For how many public sources a question requests vectors of the second model. Later questions request the others.
_MAX_REQUESTED = 1_000


def build_scopes(sources: QueryableSources | DataSourceQuerySet, question: Question) -> list[SearchScope]:
    """Group sources into scopes by embedding model, because vectors of two models cannot be compared.

    Besides its own model, which is for English, a source may have vectors of a second, multilingual model. If the
    question is not English, such a source is searched with the second model. If it is English, only documents in other
    languages are searched with the second model as well.

    A question whose words show that it is not English also requests vectors of the second model from the workers, for
    sources without them.

    Args:
        sources: Sources that the caller may query.
        question: The question, whose filters apply to every scope.
    """
    if isinstance(sources, DataSourceQuerySet):
        listed = sources
        sources = QueryableSources(frozenset(), lambda: listed)
    builder = _Builder(question)
    if sources.grants is None:
        builder.add_listed(sources.other_sources)
    if sources.organizations:
        builder.add_by_rule(sources)
    if builder.without_second_model:
        second_model.request_vectors(builder.without_second_model)
    return builder.build(sources)


class _Builder:
    """Collects the sources of each scope.

    Attributes:
        without_second_model: Sources that the question needs vectors of the second model for, and that have none.
            Of the sources that are not listed only some are among them.
    """

    def __init__(self, question: Question) -> None:
        self._filters = question.filters
        self._is_english_question = is_english(question.text)
        # A question whose language is only likely costs no vectors of the second model.
        self._needs_second_model = not self._is_english_question and has_foreign_words(question.text)
        # The filters with which vectors of the second model are searched; None for no search.
        self._second_filters = _only_foreign(question.filters) if self._is_english_question else question.filters
        self._listed: dict[_Key, list[uuid.UUID]] = defaultdict(list)
        self._uses: dict[_Key, ModelUse] = {}
        # The scopes with public sources, and those with granted sources that are not listed.
        self._public, self._granted = set[_Key](), set[_Key]()
        self._second_of: tuple[uuid.UUID, ...] = ()
        self._organization_ids = set[uuid.UUID]()
        self._versions = dict[uuid.UUID, str]()
        # The scopes whose sources the question cannot be compared with by meaning, because they lack second vectors.
        self._lacking = set[_Key]()
        self.without_second_model: list[uuid.UUID] = []

    def add_listed(self, sources: DataSourceQuerySet) -> None:
        """Add sources one by one."""
        columns = ("pk", "organization_id", "embedding_model_id", "embedding_model__name", "second_model_id")
        rows = sources.order_by("pk").values_list(*columns, "second_model_ready_at", model_version())
        for pk, organization_id, model_id, model_name, second_id, ready_at, version in rows:
            self._versions[model_id] = version
            self._add_source(pk, organization_id, model_id, model_name, second_id if ready_at else None)
            if self._needs_second_model and _is_english_only(model_name) and second_id is None:
                self.without_second_model.append(pk)

    def add_by_rule(self, sources: QueryableSources) -> None:
        """Add the public sources of organisations, and the sources that grants give access to.

        Few granted sources are listed. If they are many, an index says whether a model has any, and they are not
        counted.
        """
        english_names = [name for name in ENGLISH_MODELS if _is_english_only(name)]
        models = granted_scopes.read(sources.organizations, sources.grants, english_names)
        self._second_of = tuple(sorted({model.model_id for model in models if model.model_name in english_names}))
        self._versions |= {model.model_id: model.version for model in models}
        for model in models:
            if model.source_id and model.organization_id:
                ready_id = model.second_id if model.has_with else None
                self._add_source(model.source_id, model.organization_id, model.model_id, model.model_name, ready_id)
                if self._needs_second_model and model.model_name in english_names and not model.second_id:
                    self.without_second_model.append(model.source_id)
            else:
                self._add_model(model, is_english=model.model_name in english_names)
        if self._needs_second_model and english_names:
            unlisted = [sources.public] if not self._granted else [sources.public, sources.other_sources]
            for queryset in unlisted:
                without = queryset.filter(embedding_model__name__in=english_names, second_model=None)
                self.without_second_model += without.order_by().values_list("pk", flat=True)[:_MAX_REQUESTED]

    def _add_source(
        self,
        source_id: uuid.UUID,
        organization_id: uuid.UUID,
        model_id: uuid.UUID,
        model_name: str,
        ready_id: uuid.UUID | None,
    ) -> None:
        """Add one source. `ready_id` is its second model, if that has all vectors."""
        self._organization_ids.add(organization_id)
        has_second = _is_english_only(model_name) and ready_id is not None
        if self._is_english_question or not has_second:
            self._listed[model_id, self._filters].append(source_id)
            if self._needs_second_model and _is_english_only(model_name):
                self._lacking.add((model_id, self._filters))
        if has_second and ready_id and self._second_filters:
            self._listed[ready_id, self._second_filters].append(source_id)

    def _add_model(self, model: SearchedModel, *, is_english: bool) -> None:
        """Add all public or granted sources of a model."""
        key = (model.model_id, self._filters)
        if not self._is_english_question and is_english:
            if model.has_without:
                self._add_use(model, key, ModelUse.OWN_WITHOUT_SECOND)
                if self._needs_second_model:
                    self._lacking.add(key)
        elif model.has_without or model.has_with:
            self._add_use(model, key, ModelUse.OWN)
        if model.is_second and self._second_filters:
            self._add_use(model, (model.model_id, self._second_filters), ModelUse.SECOND)

    def _add_use(self, model: SearchedModel, key: _Key, use: ModelUse) -> None:
        (self._granted if model.is_granted else self._public).add(key)
        self._uses[key] = use if self._uses.get(key, use) == use else ModelUse.OWN_OR_SECOND

    def build(self, sources: QueryableSources) -> list[SearchScope]:
        """Return the scopes. The question's own filters come before those of the second model."""
        keys = sorted({*self._listed, *self._uses}, key=lambda key: (key[1] != self._filters, key[0]))
        if self._uses:
            self._organization_ids |= sources.organizations
        return [self._scope(key, sources) for key in keys]

    def _scope(self, key: _Key, sources: QueryableSources) -> SearchScope:
        listed, organization_ids = tuple(self._listed.get(key, ())), tuple(sorted(self._organization_ids))
        version = self._versions.get(key[0], "")
        scope = SearchScope(
            listed,
            key[0],
            key[1],
            organization_ids=organization_ids,
            model_version=version,
            lacks_language=key in self._lacking,
        )
        if key not in self._uses:
            return scope
        return dataclasses.replace(
            scope,
            public_in=tuple(sorted(sources.organizations)) if key in self._public else (),
            grants=sources.grants if key in self._granted else None,
            model_use=self._uses[key],
            second_of=self._second_of,
        )


def _is_english_only(model_name: str) -> bool:
    return model_name in ENGLISH_MODELS and bool(settings.RAG_MULTILINGUAL_MODEL)


def _only_foreign(filters: Filters) -> Filters | None:
    """Return the filters for documents in other languages; None if no such document can match."""
    langs = tuple(lang for lang in filters.langs if is_foreign(lang)) if filters.langs else FOREIGN_LANGUAGES
    return dataclasses.replace(filters, langs=langs) if langs else None
