"""What these models tell the audit trail: data sources, and whom they are open to. Documents are too many to be watched
one by one: whoever deletes one says so (rag.services.documents)."""

from accounts.audit import Kind
from accounts.watch import Watch, watch

from .sources import DataSource, Grant


def begin() -> None:
    """Called once, when the app is ready."""
    watch(
        DataSource,
        Watch(
            Kind.SOURCE,
            fields=("organization", "name", "slug", "visibility", "owner", "source_type", "embedding_model"),
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
