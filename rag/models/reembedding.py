"""Re-embeddings: moving a data source from one embedding model to another."""

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.audit.tracking import TrackedModelMixin
from ragsite.postgres.models import UUIDModel

from .embedding_models import EmbeddingModel
from .evaluation.golden_questions import QualityRun
from .sources import DataSource, SourceContentQuerySet


class ReembeddingQuerySet(SourceContentQuerySet["Reembedding"]):
    def unfinished(self) -> Self:
        """Return the re-embeddings that are in progress, that wait for a decision, or whose vectors are being removed.

        A source has at most one of them.
        """
        return self.filter(Q(state__in=Reembedding.OPEN_STATES) | Q(model_to_remove__isnull=False))


class Reembedding(TrackedModelMixin, UUIDModel):
    """A re-embedding. The source is searched with `from_model` until it is switched, and then with `to_model`."""

    class State(models.TextChoices):
        BUILDING = "building"  # chunks get a vector of to_model in addition to the one that they have
        READY = "ready"  # no vector is missing; somebody decides about the switch
        SWITCHED = "switched"  # the vectors of from_model still exist, for a rollback
        ROLLED_BACK = "rolled_back", "rolled back"  # by another row, which `undoes` this one
        DROPPED = "dropped"  # the vectors of from_model are removed, or being removed (model_to_remove)
        FAILED = "failed"  # the vectors that were built still exist; it can be resumed
        CANCELLED = "cancelled"  # the vectors of to_model are removed, or being removed

    source = models.ForeignKey(DataSource, models.CASCADE, related_name="reembeddings")
    from_model = models.ForeignKey(EmbeddingModel, models.PROTECT, related_name="+")
    to_model = models.ForeignKey(EmbeddingModel, models.PROTECT, related_name="+")
    undoes = models.ForeignKey("self", models.SET_NULL, null=True, related_name="+")
    state = models.CharField(max_length=11, choices=State.choices, default=State.BUILDING)
    switches_automatically = models.BooleanField(
        default=False, help_text="As soon as it is ready, if the quality gate allows it."
    )
    # Chunks of the source, and those with a vector of to_model; counted at the start of each pass.
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    # The last chunk of the current pass. None starts a new pass.
    position = models.UUIDField(null=True)
    # The model whose vectors are being removed. The column has its first name, so that an upgrade interrupts nobody.
    model_to_remove = models.ForeignKey(
        EmbeddingModel, models.PROTECT, null=True, related_name="+", db_column="clearing_id"
    )
    # Failures of a provider in a row, and when to try again.
    outages = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True)
    # The measurements of the quality gate; empty without golden questions.
    measured_at = models.DateTimeField(null=True)
    old_quality = models.ForeignKey(QualityRun, models.SET_NULL, null=True, related_name="+")
    new_quality = models.ForeignKey(QualityRun, models.SET_NULL, null=True, related_name="+")
    forced_because = models.TextField(blank=True, help_text="Why the quality gate was overruled.")
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    switched_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = ReembeddingQuerySet.as_manager()

    # In progress, or waiting for a decision. Rows with a `model_to_remove` are in progress as well.
    OPEN_STATES = (State.BUILDING, State.READY, State.FAILED)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=["source"],
                condition=Q(state__in=["building", "ready", "failed"]) | Q(model_to_remove__isnull=False),
                name="one_open_reembedding",
            ),
        )

        indexes = (
            # Searches that began before a switch (the SQL function rag_permitted_scope).
            models.Index(
                fields=["from_model", "switched_at"], condition=Q(state="switched"), name="reembedding_switched"
            ),
        )

    def __str__(self) -> str:
        return f"{self.from_model} → {self.to_model} ({self.state})"
