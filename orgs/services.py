"""Founding an organisation and joining it."""

from collections.abc import Iterable

from django.db import transaction

from accounts.models import User

from .models import Membership, Organization, Role, Team
from .permissions import DEFAULT_ROLES


@transaction.atomic
def found_organization(*, name: str, slug: str) -> Organization:
    """The organisation of this slug with the default roles; what exists already is left as it is."""
    organization, _ = Organization.objects.get_or_create(slug=slug, defaults={"name": name})
    for role, permissions in DEFAULT_ROLES.items():
        organization.roles.get_or_create(name=role, defaults={"permissions": permissions})
    return organization


@transaction.atomic
def add_member(
    *, user: User, organization: Organization, roles: Iterable[str] = ("member",), teams: Iterable[str] = ()
) -> Membership:
    """Make the user a member with these roles and teams, by name. Teams are made when missing.

    Raises Role.DoesNotExist for a role that the organisation does not have.
    """
    membership, _ = Membership.objects.get_or_create(user=user, organization=organization)
    membership.roles.add(*(Role.objects.get(organization=organization, name=name) for name in roles))
    membership.teams.add(*(Team.objects.get_or_create(organization=organization, name=name)[0] for name in teams))
    return membership
