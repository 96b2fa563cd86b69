"""Limits the number of data sources of an organisation."""

from orgs.models import Organization
from rag.errors import InvalidRequest
from rag.models import DataSource
from ragsite.postgres import identity
from ragsite.postgres.locks import advisory_xact_locks

MAX_SOURCES = 10_000


def check_number_of_sources(organization: Organization) -> None:
    """Check that the organisation may have another source, inside the transaction that creates it.

    Other transactions that create sources of this organisation wait until this one ends.

    Raises:
        InvalidRequest: If the organisation has MAX_SOURCES sources.
    """
    advisory_xact_locks([f"data sources of {organization.pk}"])
    with identity.run_as(identity.STAFF):  # the caller may not see all of them
        number = DataSource.objects.filter(organization=organization, deleted_at=None).count()
    if number >= MAX_SOURCES:
        raise InvalidRequest(
            f"The organisation has {number:,} data sources, which is the maximum. Delete one first.", field="source"
        )
