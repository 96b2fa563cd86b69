"""Deletes data sources and organisations.

Deleting marks a row, which hides it from everyone immediately. The purge removes the rows later
(docs/decisions/0010-deletion.md).
"""

import structlog
from django.db import transaction
from django.utils import timezone

from accounts.models import User
from orgs.access.caller import Caller
from orgs.access.delegation import change_access
from orgs.creation import service_user_email
from orgs.models import Organization
from rag import task_queue
from rag.errors import UnknownSource
from rag.models import DataSource, IngestionJob
from rag.pipeline.ingestion import quota
from rag.services.jobs import close_and_cancel

from . import documents, lookup
from .expected_version import check_version

logger = structlog.get_logger(__name__)


def delete_by_reference(
    caller: Caller,
    reference: str,
    *,
    organization: Organization | None = None,
    expected_versions: frozenset[str] | None = None,
) -> None:
    """Delete the source with this id or slug, if the caller may manage it, and cancel its jobs.

    Raises:
        VersionChanged: If the source is in none of the expected versions (overwrite_protection).
        NotAllowed: If the caller may see the source, but not manage it.
        UnknownSource: If the source does not exist for the caller.
        InvalidRequest: If sources of several organisations have this slug.
    """
    source = lookup.get_source_to_manage(caller, reference, organization=organization)
    delete_source(source, expected_versions=expected_versions)


@transaction.atomic
def delete_source(source: DataSource, *, expected_versions: frozenset[str] | None = None) -> None:
    """Delete the source for everyone, without checking permissions, and cancel its jobs.

    Every transaction that writes to the source locks its row (DataSource.lock_for_write): it has either committed
    before the source is deleted here, or finds it deleted.

    Raises:
        UnknownSource: If the source is deleted already.
        VersionChanged: If the source is in none of the expected versions.
    """
    locked = DataSource.objects.select_for_update(of=("self",)).filter(pk=source.pk, deleted_at=None).first()
    if locked is None:
        raise UnknownSource
    check_version(locked, expected_versions)
    # deleted_at comes last: row-level security then hides everything of the source, from this transaction too.
    close_and_cancel.cancel_jobs(IngestionJob.objects.filter(source=locked))
    _, chunks, size = documents.get_storage_totals(locked)
    locked.deleted_at = timezone.now()
    locked.save(update_fields=["deleted_at"])
    task_queue.send("rag.purge_deleted")
    logger.info("source_deleted", source=str(locked.pk))
    quota.update_usage(locked.organization_id, chunks=-chunks, bytes=-size)


@transaction.atomic
def delete_organization(organization: Organization) -> None:
    """Delete the organisation with its sources, keys, teams, roles, memberships and service user.

    The accounts of its members stay, because they may belong to other organisations. The purge removes the row, and
    with it the slug, after the sources. If the organisation is deleted already, nothing happens.

    Raises:
        AccessChangeRefused: Its service user is the last holder of a permission in another organisation.
    """
    # no_key: transactions that write to its sources refer to the row, and do not have to wait.
    organizations = Organization.objects.select_for_update(no_key=True)
    locked = organizations.filter(pk=organization.pk, deleted_at=None).first()
    if locked is None:
        return
    locked.deleted_at, locked.is_active = timezone.now(), False
    locked.save(update_fields=["deleted_at", "is_active"])
    delete_sources(locked)
    service_users = User.objects.filter(email=service_user_email(locked.slug))
    with change_access(actor=None, rows=service_users):
        service_users.delete()
    for related in (locked.api_keys, locked.memberships, locked.teams, locked.roles):
        related.all().delete()
    task_queue.send("rag.purge_deleted")
    logger.info("organization_deleted", organization=str(locked.pk))


def delete_sources(organization: Organization) -> None:
    """Delete all data sources of the organisation, without checking permissions."""
    for source in DataSource.objects.filter(organization=organization, deleted_at=None).order_by("pk"):
        delete_source(source)
