"""The organisation of a request: the one that it names by slug or id, otherwise the only one of its user."""

from django.core.validators import slug_re
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from orgs.models.organizations import AnyUser, Membership, Organization
from ragsite.postgres.models import as_uuid

from .permissions import Permission

HEADER = "X-Organization"
# The longest slug or id by which a request may name something.
MAX_REFERENCE_CHARACTERS = 100
_MAX_LISTED_CHOICES = 20


class OrganizationUndecided(Exception):
    """The request names an organisation that the user does not belong to, or none although there are several.

    The text is for the caller and lists the choices.
    """


class NoOrganization(Exception):
    """The user is not a member of any organisation. The text is for the caller."""


def read_header(request: HttpRequest) -> str:
    """Return the slug or id in the header X-Organization; empty without the header."""
    return request.headers.get(HEADER, "").strip()


def organizations_of(user: AnyUser) -> QuerySet[Organization]:
    """Return the organisations of which the user is an active member."""
    return Organization.objects.filter(memberships__in=Membership.objects.active_for(user))


def organizations_with_permission(user: AnyUser, permission: Permission) -> QuerySet[Organization]:
    """Return the active organisations in which the user has the permission; for a superuser all but deleted ones."""
    if user.is_superuser:
        return Organization.objects.filter(deleted_at=None)
    allowed = Membership.objects.allowing(user, permission)
    return Organization.objects.filter(pk__in=allowed.values("organization"))


def get_organization(user: AnyUser, reference: str, *, where: str, only: Organization | None = None) -> Organization:
    """Find the user's organisation with this slug or id.

    Args:
        reference: The slug or id, as the client sent it.
        only: The organisation that the user's API key is restricted to.
        where: The field or header that contains the reference (`X-Organization`), for the message.

    Raises:
        OrganizationUndecided: The user is not a member of this organisation.
    """
    organizations = organizations_of(user) if only is None else organizations_of(user).filter(pk=only.pk)
    organization = organizations.filter(match_reference(reference)).first()
    if organization is None:
        choices = ", ".join(organizations.values_list("slug", flat=True)[:_MAX_LISTED_CHOICES]) or "none"
        raise OrganizationUndecided(f"{where} names none of your organisations ({choices}).")
    return organization


def get_only_organization(user: AnyUser) -> Organization:
    """Return the only organisation of the user.

    Raises:
        NoOrganization: The user has no organisation.
        OrganizationUndecided: The user has several.
    """
    organizations = list(organizations_of(user)[:_MAX_LISTED_CHOICES])
    if not organizations:
        raise NoOrganization("You are not a member of any organisation.")
    if len(organizations) > 1:
        choices = ", ".join(organization.slug for organization in organizations)
        raise OrganizationUndecided(f"Say which organisation, with the header {HEADER}: {choices}.")
    return organizations[0]


def match_reference(reference: str) -> Q:
    """Build the condition for an id or a slug. A text that can be neither matches nothing."""
    if key := as_uuid(reference):  # never a slug, which somebody could choose to equal the id of another row
        return Q(pk=key)
    return Q(slug=reference) if slug_re.fullmatch(reference) else Q(pk=None)
