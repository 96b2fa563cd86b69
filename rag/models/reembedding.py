"""Moves of a data source from one embedding model to another: a row each, from the first vector to the last."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from accounts.audit.tracking import Watched
from ragsite.postgres.models import UUIDModel

from .embedding_models import EmbeddingModel
from .evaluation.golden_questions import QualityRun
from .sources import DataSource, SourceContentQuerySet


class Reembedding(Watched, UUIDModel):
    """The source is searched with `from_model` until the state is `switched`, and from then on with `to_model`."""

    class State(models.TextChoices):
        BUILDING = "building"  # chunks get a vector of to_model, beside the one they have
        READY = "ready"  # nothing was missing; somebody decides
        SWITCHED = "switched"  # the vectors of from_model are kept: the way back
        ROLLED_BACK = "rolled_back", "rolled back"  # by another row, which `undoes` this one
        DROPPED = "dropped"  # the vectors of from_model are gone, or going (`clearing`)
        FAILED = "failed"  # what was built is kept; it can be resumed
        CANCELLED = "cancelled"  # the vectors of to_model are gone, or going

    source = models.ForeignKey(DataSource, models.CASCADE, related_name="reembeddings")
    from_model = models.ForeignKey(EmbeddingModel, models.PROTECT, related_name="+")
    to_model = models.ForeignKey(EmbeddingModel, models.PROTECT, related_name="+")
    undoes = models.ForeignKey("self", models.SET_NULL, null=True, related_name="+")
    state = models.CharField(max_length=11, choices=State.choices, default=State.BUILDING)
    switches_itself = models.BooleanField(default=False, help_text="As soon as it is ready, if the gate allows it.")
    # Chunks of the source, and those that have a vector of to_model: counted at the start of each pass.
    total = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    # The last chunk of this pass that was looked at; none: a new pass.
    position = models.UUIDField(null=True)
    # The model whose vectors are being removed.
    clearing = models.ForeignKey(EmbeddingModel, models.PROTECT, null=True, related_name="+")
    # Failures of a provider in a row, and not to be tried before.
    outages = models.PositiveIntegerField(default=0)
    due_at = models.DateTimeField(null=True)
    error = models.TextField(blank=True)
    # The quality gate: empty without golden questions.
    measured_at = models.DateTimeField(null=True)
    old_quality = models.ForeignKey(QualityRun, models.SET_NULL, null=True, related_name="+")
    new_quality = models.ForeignKey(QualityRun, models.SET_NULL, null=True, related_name="+")
    forced_because = models.TextField(blank=True, help_text="Why the gate was overruled.")
    started_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    switched_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    objects = SourceContentQuerySet.as_manager()

    # At work, or waiting for somebody's decision; beside them, whatever is `clearing`.
    OPEN = (State.BUILDING, State.READY, State.FAILED)

    class Meta:
        ordering = ("-id",)
        constraints = (
            models.UniqueConstraint(
                fields=["source"],
                condition=Q(state__in=["building", "ready", "failed"]) | Q(clearing__isnull=False),
                name="one_open_reembedding",
            ),
        )

    def __str__(self) -> str:
        return f"{self.from_model} → {self.to_model} ({self.state})"
