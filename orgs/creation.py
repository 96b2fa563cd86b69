"""Creating organisations and memberships, and the service user of anonymous requests."""

from collections.abc import Iterable

from django.contrib.auth.hashers import make_password
from django.db import connection, transaction

from accounts.models import User
from ragsite.postgres import identity

from .access.permissions import DEFAULT_ROLE, DEFAULT_ROLES
from .models.organizations import Membership, Organization, Role, Team


@transaction.atomic
def create_organization(*, name: str, slug: str) -> Organization:
    """Create the organisation and its default roles. Existing rows are not changed."""
    organization, _ = Organization.objects.get_or_create(slug=slug, defaults={"name": name})
    create_default_roles(organization)
    return organization


def create_default_roles(organization: Organization) -> None:
    """Create those of the default roles that the organisation lacks."""
    for role, permissions in DEFAULT_ROLES.items():
        organization.roles.get_or_create(name=role, defaults={"permissions": permissions})


@transaction.atomic
def add_member(
    *, user: User, organization: Organization, roles: Iterable[str] = (DEFAULT_ROLE,), teams: Iterable[str] = ()
) -> Membership:
    """Give the user a membership with these roles and teams, by name. Missing teams are created.

    Raises:
        Role.DoesNotExist: The organisation has no role of this name.
    """
    membership, _ = Membership.objects.get_or_create(user=user, organization=organization)
    membership.roles.add(*(Role.objects.get(organization=organization, name=name) for name in roles))
    membership.teams.add(*(Team.objects.get_or_create(organization=organization, name=name)[0] for name in teams))
    return membership


def get_service_user(slug: str) -> User | None:
    """Return the service user of an organisation: an editor that cannot sign in, created at the first request.

    Returns:
        None if the organisation does not exist or is inactive, or if an admin deactivated the user or the membership.
    """
    user = _active_service_user(slug)
    if user is None:
        with identity.run_as(identity.STAFF):  # requests may not create accounts
            if organization := Organization.objects.filter(slug=slug, is_active=True).first():
                _create_service_user(organization)
        user = _active_service_user(slug)
    return user


def _active_service_user(slug: str) -> User | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT orgs_service_user_id(%s)", [service_user_email(slug)])
        user_id = cursor.fetchone()[0]
    members = Membership.objects.filter(user=user_id, organization__slug=slug)
    active = members.filter(is_active=True, user__is_active=True, organization__is_active=True)
    with identity.run_as(identity.of_user(user_id)):
        membership = active.select_related("user").first()
    return membership.user if membership else None


@transaction.atomic
def _create_service_user(organization: Organization) -> None:
    """Create the service user unless it exists. Rights that an admin has removed are not restored."""
    user, is_created = User.objects.get_or_create(
        email=service_user_email(organization.slug),
        defaults={"name": "Requests without a credential", "password": make_password(None)},
    )
    if is_created:
        membership = Membership.objects.create(user=user, organization=organization)
        membership.roles.set(organization.roles.filter(name="editor"))


def service_user_email(slug: str) -> str:
    """Return the e-mail address of the organisation's service user."""
    return f"service@{slug.lower()}.invalid"
