"""Questions that were not answered well. People who manage a source learn from them what its documents lack."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from rag.models.search.conversations import Conversation
from rag.models.sources import DataSource, SourceContentQuerySet
from rag.types import MAX_QUESTION_CHARACTERS
from ragsite.postgres.models import UUIDModel


class UnansweredQuestion(UUIDModel):
    """A question that was declined, answered with low confidence, or whose answer its reader disliked.

    It belongs to the source in which the search found the closest passage, and goes with it.

    Attributes:
        user: Who asked. Never shown: the question is deleted and exported with the account.
        conversation: The conversation of the page "Ask"; None for questions of the API.
        answer_id: The message with the answer, which its reader may rate.
        document_id: The document of the closest passage. It may be deleted by now.
        searched_sources: The sources that were searched, except the public ones of `searched_organizations`.
        searched_organizations: The organisations whose public sources were all searched.
    """

    class Reason(models.TextChoices):
        DECLINED = "declined", "not answered"
        LOW_CONFIDENCE = "low", "answered with low confidence"
        DISLIKED = "disliked", "the answer was not helpful"

    source = models.ForeignKey(DataSource, models.CASCADE, related_name="unanswered_questions", db_index=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="unanswered_questions")
    conversation = models.ForeignKey(Conversation, models.CASCADE, null=True, related_name="+")
    answer_id = models.UUIDField(null=True)
    question = models.CharField(max_length=MAX_QUESTION_CHARACTERS)
    reason = models.CharField(max_length=10, choices=Reason.choices)
    confidence = models.FloatField()
    document_id = models.UUIDField()
    searched_sources = ArrayField(models.UUIDField())
    searched_organizations = ArrayField(models.UUIDField())
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SourceContentQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)
        indexes = (models.Index(fields=["source", "-id"], name="unanswered_of_source"),)

    def __str__(self) -> str:
        return str(self.pk)
