"""What the audit trail records about data sources, their grants, re-embeddings and syncs, and webhooks.

Documents are too many to be tracked row by row: `rag.services.sources.documents` records their deletion.
"""

from typing import Any
from urllib.parse import urlsplit

from django.db.models import Model

from accounts.audit.events import AuditAction, AuditObject
from accounts.audit.tracked_model import TrackedModel
from accounts.audit.tracking import track

from .grants import Grant
from .ingestion.syncs import SyncConnection
from .reembedding import Reembedding
from .sources import DataSource
from .webhooks import Webhook

_TRACKED: dict[type[Model], TrackedModel[Any]] = {
    DataSource: TrackedModel[DataSource](
        AuditObject.SOURCE,
        fields=("organization", "name", "slug", "visibility", "owner", "source_type", "embedding_model", "has_ocr"),
        end_actions={"deleted_at": AuditAction.DELETED},
        organization=lambda source: source.organization,
        label=lambda source: source.slug,
        # The rows of a deleted source are purged later, which is not an event of its own.
        is_already_recorded=lambda source: source.deleted_at is not None,
    ),
    Grant: TrackedModel[Grant](
        AuditObject.GRANT,
        fields=("role", "team", "user", "expires_at"),
        organization=lambda grant: grant.source.organization,
        label=lambda grant: grant.source.slug,
        subject=lambda grant: grant.user,
        is_already_recorded=lambda grant: grant.source.deleted_at is not None,
    ),
    Reembedding: TrackedModel[Reembedding](
        AuditObject.REEMBEDDING,
        fields=("from_model", "to_model", "state", "switches_automatically", "forced_because"),
        organization=lambda reembedding: reembedding.source.organization,
        label=lambda reembedding: reembedding.source.slug,
        is_already_recorded=lambda reembedding: reembedding.source.deleted_at is not None,
    ),
    SyncConnection: TrackedModel[SyncConnection](
        AuditObject.SOURCE,
        fields=("kind", "interval_minutes", "is_active", "acts_for"),
        redacted=("location", "endpoint", "access_key", "secret"),  # a location may contain a secret
        organization=lambda connection: connection.source.organization,
        label=lambda connection: f"sync of {connection.source.slug}",
        is_already_recorded=lambda connection: connection.source.deleted_at is not None,
    ),
    Webhook: TrackedModel[Webhook](
        AuditObject.WEBHOOK,
        fields=("organization", "events", "is_active"),
        redacted=("url",),  # addresses may contain a secret
        organization=lambda webhook: webhook.organization,
        label=lambda webhook: urlsplit(webhook.url).hostname or "",
    ),
}


def register() -> None:
    """Track changes of these models from now on. Called once, when the app is ready."""
    for model, tracked in _TRACKED.items():
        track(model, tracked)
