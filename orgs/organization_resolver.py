"""Which organisation a request means: the one that it names by slug or id, else its caller's only one."""

from django.core.validators import slug_re
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from ragsite.postgres.models import as_uuid

from .models.organizations import AnyUser, Membership, Organization

HEADER = "X-Organization"
_MAX_LISTED_CHOICES = 20


class OrganizationUndecided(Exception):
    """The request names no organisation of its caller's, or none where there are several. Its text is for the caller
    and names the choices."""


class NoOrganization(Exception):
    """The user is not a member of any organisation. Its text is for the caller."""


def read_header(request: HttpRequest) -> str:
    """The slug or id in X-Organization; empty without it."""
    return request.headers.get(HEADER, "").strip()


def organizations_of(user: AnyUser) -> QuerySet[Organization]:
    """Those that the user is an active member of."""
    return Organization.objects.filter(memberships__in=Membership.objects.active_for(user))


def get_organization(user: AnyUser, reference: str, *, where: str) -> Organization:
    """The user's organisation with this slug or id. Raises OrganizationUndecided.

    where: what holds the reference in the request (`X-Organization`), for the message.
    """
    organizations = organizations_of(user)
    organization = organizations.filter(match_reference(reference)).first()
    if organization is None:
        choices = ", ".join(organizations.values_list("slug", flat=True)[:_MAX_LISTED_CHOICES]) or "none"
        raise OrganizationUndecided(f"{where} names none of your organisations ({choices}).")
    return organization


def get_only_organization(user: AnyUser) -> Organization:
    """The only one that the user is a member of. Raises OrganizationUndecided or NoOrganization."""
    organizations = list(organizations_of(user)[:_MAX_LISTED_CHOICES])
    if not organizations:
        raise NoOrganization("You are not a member of any organisation.")
    if len(organizations) > 1:
        choices = ", ".join(organization.slug for organization in organizations)
        raise OrganizationUndecided(f"Say which organisation, with the header {HEADER}: {choices}.")
    return organizations[0]


def match_reference(reference: str) -> Q:
    """An id or a slug, as a client wrote it; what cannot be either matches nothing."""
    if key := as_uuid(reference):  # never a slug: one could be chosen to look like another thing's id
        return Q(pk=key)
    return Q(slug=reference) if slug_re.fullmatch(reference) else Q(pk=None)
