"""Golden questions, which say what a search in a data source must find, and the runs that measure it."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from rag.models.content.documents import MAX_PATH_BYTES
from rag.models.embedding_models import EmbeddingModel
from rag.models.sources import DataSource, SourceContentQuerySet
from rag.types import MAX_QUESTION_CHARACTERS
from ragsite.postgres.models import UUIDModel


class GoldenQuestion(UUIDModel):
    """A question and one result that a search must find.

    Rows with the same text belong to one question with several expected results.
    """

    source = models.ForeignKey(DataSource, models.CASCADE, related_name="golden_questions")
    question = models.CharField(max_length=MAX_QUESTION_CHARACTERS)
    path = models.CharField(
        "expected document",
        max_length=MAX_PATH_BYTES,
        blank=True,
        help_text="The path of the document, exactly as it was sent.",
    )
    passage = models.TextField(
        "expected passage",
        max_length=MAX_QUESTION_CHARACTERS,
        blank=True,
        help_text="Text that a passage must contain. With an expected document, a passage of that document.",
    )
    active = models.BooleanField(default=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, editable=False, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SourceContentQuerySet.as_manager()

    class Meta:
        ordering = ("source", "id")
        constraints = (
            models.CheckConstraint(
                condition=~Q(path="", passage=""),
                name="golden_question_expects_something",
                violation_error_message="Say which document or which passage the question must find.",
            ),
        )

    def __str__(self) -> str:
        return self.question[:80]


class QualityRun(UUIDModel):
    """The metrics of one model on a source's golden questions, 0 to 1 (defined in rag.services.evaluation.quality)."""

    source = models.ForeignKey(DataSource, models.CASCADE, related_name="quality_runs")
    model = models.ForeignKey(EmbeddingModel, models.CASCADE, related_name="+")
    at = models.DateTimeField(auto_now_add=True)
    # Whether the source was searched with this model at that time. Otherwise it was measured for the quality gate.
    is_live = models.BooleanField()
    questions = models.PositiveIntegerField()
    recall_at_10 = models.FloatField("Recall@10")
    ndcg_at_10 = models.FloatField("nDCG@10")
    mrr_at_10 = models.FloatField("MRR@10")
    # For each question: the expected paths, and the ranks at which they were found. Never the text of a document.
    details = models.JSONField(default=list)

    objects = SourceContentQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = (models.Index(fields=["source", "-id"], name="quality_of_source"),)

    def __str__(self) -> str:
        return f"{self.source}: nDCG@10 {self.ndcg_at_10:.3f}"
