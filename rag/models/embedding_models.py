"""Embedding models and where they are served. Vectors of different models are never compared."""

import uuid
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db import models

from rag.errors import EmbeddingFailed
from rag.types.embedding_prefixes import find_wrong_prefixes
from ragsite.postgres import identity
from ragsite.postgres.models import UUIDModel

_KEY_VARIABLE = [RegexValidator(r"^[A-Z][A-Z0-9_]*_API_KEY\Z", "The name of a variable that ends with _API_KEY.")]
_COSINE = [MinValueValidator(0.0), MaxValueValidator(1.0)]
_MEAN = "A mean score of the best five passages, 0 to 1. Empty: as the operator set it for all models."


# In SQL: a digest of the row of a model.
MODEL_VERSION = "md5(rag_embeddingmodel::text)"


def model_version() -> models.Func:
    """Return MODEL_VERSION for a queryset that reads the table of models."""
    return models.Func(template=MODEL_VERSION, output_field=models.TextField())


# The models that this process has read, with their versions.
_read_models: "dict[uuid.UUID, tuple[str, EmbeddingModel]]" = {}


class EmbeddingModelManager(models.Manager["EmbeddingModel"]):
    """Finds the default model, and the models of a search."""

    def of_versions(self, versions: Mapping[uuid.UUID, str]) -> "dict[uuid.UUID, EmbeddingModel]":
        """Return these models, of which the database has just stated the versions. Only changed ones are read again.

        Args:
            versions: The version of each model; empty if it is not known.
        """
        kept = {key: _read_models[key] for key in versions if key in _read_models}
        current = {key: model for key, (version, model) in kept.items() if version == versions[key]}
        if outdated := versions.keys() - current.keys():
            for model in self.filter(pk__in=outdated).annotate(version=model_version()):
                _read_models[model.pk] = model.version, model
                current[model.pk] = model
        return current

    def multilingual(self) -> "EmbeddingModel | None":
        """Return the model for texts that are not English (RAG_MULTILINGUAL_MODEL); None if there is to be none."""
        name = settings.RAG_MULTILINGUAL_MODEL
        return self.get_or_create(name=name, defaults=KNOWN_MODELS[name])[0] if name else None

    def default(self) -> "EmbeddingModel":
        """Return the model of new data sources (RAG_EMBEDDING_MODEL). Rows of KNOWN_MODELS are created on first use.

        Raises:
            EmbeddingFailed: If there is no model of this name.
        """
        name = settings.RAG_EMBEDDING_MODEL
        if model := self.filter(name=name).first():
            return model
        if name not in KNOWN_MODELS:
            raise EmbeddingFailed(f"RAG_EMBEDDING_MODEL names no known embedding model: {name}", is_retryable=False)
        with identity.run_as(identity.STAFF):  # requests may not write models: a row states an address to connect to
            return self.get_or_create(name=name, defaults=KNOWN_MODELS[name])[0]


class EmbeddingModel(UUIDModel):
    """A model that computes the vectors of data sources, and the endpoint that serves it."""

    class Provider(models.TextChoices):
        LOCAL = "local", "local: on this machine's CPU"
        OPENAI = "openai", "OpenAI-compatible endpoint"

    class Dimensions(models.IntegerChoices):
        """The supported numbers of dimensions. Each has its own table (rag/models/content/pgvector_tables.py)."""

        D384 = 384, "384"
        D512 = 512, "512"
        D768 = 768, "768"
        D1536 = 1536, "1536"
        D3072 = 3072, "3072"

    name = models.CharField(max_length=100, unique=True, help_text="As the provider names it.")
    provider = models.CharField(max_length=10, choices=Provider.choices)
    dimensions = models.PositiveIntegerField(choices=Dimensions.choices)
    base_url = models.URLField(
        "base URL", blank=True, help_text="For example http://localhost:11434/v1; empty: OpenAI's own."
    )
    api_key_variable = models.CharField(
        "environment variable of the API key",
        max_length=100,
        blank=True,
        validators=_KEY_VARIABLE,
        help_text="Its name, for example OPENAI_API_KEY: the key itself is never stored.",
    )
    fallback_base_url = models.URLField(
        "second endpoint",
        blank=True,
        help_text="Of the very same model, asked when the first one fails. Another model's vectors would not fit.",
    )
    fallback_api_key_variable = models.CharField(
        "environment variable of its API key", max_length=100, blank=True, validators=_KEY_VARIABLE
    )
    query_prefix = models.CharField(
        "prefix of questions", max_length=200, blank=True, help_text="Put before questions, if the model asks for it."
    )
    document_prefix = models.CharField(
        "prefix of passages", max_length=200, blank=True, help_text="Put before passages, likewise."
    )
    # Thresholds of the mean cosine of the best passages. The scale differs between models (the retrieval contract).
    confidence_high = models.FloatField(
        "confidence is high from", null=True, blank=True, validators=_COSINE, help_text=_MEAN
    )
    confidence_medium = models.FloatField(
        "confidence is medium from", null=True, blank=True, validators=_COSINE, help_text=_MEAN
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = EmbeddingModelManager()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def clean(self) -> None:
        known = KNOWN_MODELS.get(self.name)
        if self.provider == self.Provider.LOCAL:
            if known is None or known["provider"] != self.Provider.LOCAL:
                names = [name for name, model in KNOWN_MODELS.items() if model["provider"] == self.Provider.LOCAL]
                raise ValidationError({"name": f"The local models are {' and '.join(names)}."})
            if self.dimensions != known["dimensions"]:
                raise ValidationError({"dimensions": f"{self.name} has {known['dimensions']} dimensions."})
        if self._state.adding or self._has_new_prefixes():
            self._clean_prefixes()

    def _has_new_prefixes(self) -> bool:
        """Return whether these are not the stored ones, which stay as they are: vectors were made with them."""
        names = ("name", "query_prefix", "document_prefix")
        stored = EmbeddingModel.objects.filter(pk=self.pk).values_list(*names).first()
        return stored != tuple(getattr(self, name) for name in names)

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Check the prefixes of a new model, also where no form checks them, and those that `update_fields` names.

        Raises:
            ValidationError: If the model was trained with other prefixes.
        """
        changed = kwargs.get("update_fields") or ()
        if self._state.adding or not {"query_prefix", "document_prefix"}.isdisjoint(changed):
            self._clean_prefixes()
        super().save(*args, **kwargs)

    def _clean_prefixes(self) -> None:
        if errors := find_wrong_prefixes(self.name, self.query_prefix, self.document_prefix):
            raise ValidationError(errors)


# Local models that find nothing in other languages.
ENGLISH_MODELS = ("all-MiniLM-L6-v2",)

KNOWN_MODELS: dict[str, dict[str, object]] = {
    "all-MiniLM-L6-v2": {"provider": EmbeddingModel.Provider.LOCAL, "dimensions": 384},
    "universal-sentence-encoder-multilingual-3": {"provider": EmbeddingModel.Provider.LOCAL, "dimensions": 512},
    "text-embedding-3-small": {
        "provider": EmbeddingModel.Provider.OPENAI,
        "dimensions": 1536,
        "api_key_variable": "OPENAI_API_KEY",
    },
}
