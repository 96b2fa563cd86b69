"""What these models tell the audit trail: data sources, whom they are open to, and their moves to other
models. Documents are too many to be watched
one by one: whoever deletes one says so (rag.services.sources.documents)."""

from accounts.audit.events import Act, Kind
from accounts.audit.tracking import Watch, watch

from .reembedding import Reembedding
from .sources import DataSource, Grant


def begin() -> None:
    """Called once, when the app is ready."""
    watch(
        DataSource,
        Watch(
            Kind.SOURCE,
            fields=("organization", "name", "slug", "visibility", "owner", "source_type", "embedding_model"),
            ends={"deleted_at": Act.DELETED},
            organization=lambda row: row.organization,
            label=lambda row: row.slug,
            unless=lambda row: row.deleted_at is not None,  # its purge, long after the deletion
        ),
    )
    watch(
        Grant,
        Watch(
            Kind.GRANT,
            fields=("role", "team", "user", "expires_at"),
            organization=lambda row: row.source.organization,
            label=lambda row: row.source.slug,
            subject=lambda row: row.user,
            unless=lambda row: row.source.deleted_at is not None,
        ),
    )
    watch(
        Reembedding,
        Watch(
            Kind.REEMBEDDING,
            fields=("from_model", "to_model", "state", "switches_itself", "forced_because"),
            organization=lambda row: row.source.organization,
            label=lambda row: row.source.slug,
            unless=lambda row: row.source.deleted_at is not None,
        ),
    )
