"""Conversations of POST /api/chat (the v3 contract, 3.1) and of the page "Ask"."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from ragsite.postgres.models import UUIDModel

MAX_TITLE_CHARACTERS = 120
MAX_COMMENT_CHARACTERS = 500


class Conversation(UUIDModel):
    """A conversation of a user.

    Attributes:
        title: What the page "Ask" lists it under; empty for conversations of the chat contract.
        rag_used: Whether the latest answer used passages.
        rag_sources: The passages of the latest answer: documentId, chunkId and score, without text.
        restricted_to_sources: The ids of the data sources that the API keys of its exchanges were restricted to, or of
            their organisation. None if an exchange was not restricted.
        bytes: The size of its messages. 0 if it has none, or if they were not counted yet.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="conversations")
    title = models.CharField(max_length=MAX_TITLE_CHARACTERS, blank=True)
    rag_used = models.BooleanField(default=False)
    rag_sources = models.JSONField(default=list)
    restricted_to_sources = ArrayField(models.UUIDField(), null=True, editable=False)
    bytes = models.BigIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return str(self.id)


class ConversationMessage(UUIDModel):
    """A message of a conversation, from the user or the assistant.

    Attributes:
        details: What an answer of the page "Ask" is based on (rag.services.queries.history.stored_answers), without
            texts of documents; of a reply of the chat contract only the sources of its passages, and of replies that it
            may repeat; None for other messages.
        is_helpful: How its reader rated an answer; None if they did not.
    """

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"

    class RatingReason(models.TextChoices):
        WRONG = "wrong", "The answer is wrong"
        INCOMPLETE = "incomplete", "Something is missing"
        SOURCES = "sources", "The passages do not fit"
        OUTDATED = "outdated", "The documents are out of date"
        OTHER = "other", "Something else"

    conversation = models.ForeignKey(Conversation, models.CASCADE, related_name="messages", db_index=False)
    position = models.PositiveIntegerField()
    role = models.CharField(max_length=9, choices=Role.choices)
    content = models.TextField()
    details = models.JSONField(null=True, editable=False)
    is_helpful = models.BooleanField(null=True)
    rating_reason = models.CharField(max_length=10, choices=RatingReason.choices, blank=True)
    rating_comment = models.CharField(max_length=MAX_COMMENT_CHARACTERS, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("conversation", "position")
        constraints = (models.UniqueConstraint(fields=["conversation", "position"], name="message_of_conversation"),)

    def __str__(self) -> str:
        return f"{self.conversation_id}#{self.position}"
