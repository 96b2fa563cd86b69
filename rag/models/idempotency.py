"""Requests with an `Idempotency-Key`, and what was returned for them."""

from django.conf import settings
from django.db import models

from ragsite.postgres.models import UUIDModel


class IdempotentRequest(UUIDModel):
    """A request that created something, or does so now. It is kept for a day (rag.services.idempotency).

    Attributes:
        api_key_id: The API key that the request was sent with; None for an access token.
        key_hash: SHA-256 of the client's key.
        fingerprint: SHA-256 of the request.
        source_id: The data source in which something was created.
        status: The HTTP status of the response; None while the request runs.
        body: The response as JSON text, which has ids and settings, and no text of documents. JSONB would reorder it.
        claimed_at: When a process began to answer the request.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    api_key_id = models.UUIDField(null=True)
    key_hash = models.CharField(max_length=64)
    fingerprint = models.CharField(max_length=64)
    source_id = models.UUIDField(null=True)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.TextField(blank=True)
    headers = models.JSONField(default=dict)
    claimed_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["user", "api_key_id", "key_hash"], name="idempotency_key_of_a_caller", nulls_distinct=False
            ),
        )
        indexes = (
            models.Index(fields=["user", "-claimed_at"], name="idempotent_requests_of_a_user"),
            models.Index(fields=["claimed_at"], name="idempotent_requests_by_age"),
        )
