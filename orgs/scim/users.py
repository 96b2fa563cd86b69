"""Members of an organisation as SCIM users. The id of a SCIM user is that of the membership."""

import uuid
from dataclasses import dataclass

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import MAX_EMAIL_CHARACTERS, User
from accounts.sign_out_everywhere import end_sign_ins
from orgs.access.delegation import AccessChangeRefused, change_access
from orgs.access.permissions import DEFAULT_ROLE
from orgs.models import Membership, Organization, Role, ScimUser, SignInDomain
from ragsite.postgres.models import is_storable

from . import filters
from .errors import ScimError

SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:User"
FIELDS: dict[str, str | filters.Constant] = {
    "id": "pk",
    "username": "user__email",
    "emails": "user__email",
    "emails.value": "user__email",
    "emails.type": filters.Constant("work"),
    "emails.primary": filters.Constant(True),
    "displayname": "user__name",
    "name.formatted": "user__name",
    "externalid": "scim_user__external_id",
    "active": "is_active",
}


@dataclass(frozen=True, slots=True)
class UserValues:
    """What a directory says about a person."""

    email: str
    name: str
    external_id: str
    is_active: bool


def list_users(organization: Organization) -> QuerySet[Membership]:
    """Return the members of the organisation, in the order in which they came."""
    members = Membership.objects.filter(organization=organization).select_related("user", "organization", "scim_user")
    return members.prefetch_related("teams__scim_group").order_by("pk")


def read_values(body: object) -> UserValues:
    """Read a SCIM user.

    Raises:
        ScimError: If it is not valid.
    """
    if not isinstance(body, dict):
        raise ScimError(400, "The body must be a JSON object.", "invalidSyntax")
    body = {str(name).lower(): value for name, value in body.items()}
    name = body.get("name")
    names = {str(part).lower(): value for part, value in name.items()} if isinstance(name, dict) else {}
    full_name = " ".join(part for part in (read_text(names, "givenname"), read_text(names, "familyname")) if part)
    shown_name = read_text(body, "displayname") or read_text(names, "formatted") or full_name
    return UserValues(
        email=User.objects.normalize_email(read_text(body, "username", required=True)),
        name=User.objects.displayable_name(shown_name),
        external_id=read_text(body, "externalid"),
        is_active=_boolean(body.get("active", True)),
    )


def create_user(organization: Organization, values: UserValues) -> Membership:
    """Make a person a member, and create an account if they have none. A deactivated account stays deactivated.

    Raises:
        ScimError: If they are a member already, or their address belongs to no verified domain of the organisation.
    """
    _require_verified(organization, values.email)
    with transaction.atomic():
        user = User.objects.filter(email=values.email).first() or _create_account(values)
        membership, is_new = Membership.objects.get_or_create(user=user, organization=organization)
        if not is_new:
            raise ScimError(409, "There is a user of this userName already.", "uniqueness")
        if user.is_superuser:
            raise ScimError(403, "Superusers are not managed by a directory.")
        membership.roles.set(Role.objects.filter(organization=organization, name=DEFAULT_ROLE))
        _save_values(membership, values)
    return membership


def replace_user(membership: Membership, values: UserValues) -> None:
    """Give a member the values of the directory. Deactivation ends their access immediately.

    Raises:
        ScimError: If the change is not allowed; 409 for the last holder of a permission.
    """
    with transaction.atomic():
        _save_values(membership, values)


def delete_user(membership: Membership) -> None:
    """Remove a member. An account that belongs to the organisation only is deactivated, and not deleted.

    Raises:
        ScimError: If they are the last holder of a permission (409).
    """
    with transaction.atomic():
        _set_active(membership, is_active=False)
        membership.delete()


def is_owned(organization: Organization, user: User) -> bool:
    """Return whether the organisation may change the account: its address is of a verified domain."""
    return not user.is_superuser and _is_verified(organization, user.email)


def _create_account(values: UserValues) -> User:
    try:
        with transaction.atomic():
            return User.objects.create_user(values.email, name=values.name)
    except ValueError as error:
        raise ScimError(400, str(error), "invalidValue") from None
    except IntegrityError:  # another request has created it at this moment
        raise ScimError(409, "There is an account of this userName already.", "uniqueness") from None


def _save_values(membership: Membership, values: UserValues) -> None:
    """Save the values of the account, if the organisation owns it, and those of the membership."""
    user, organization = membership.user, membership.organization
    if (user.email, user.name) != (values.email, values.name) and is_owned(organization, user):
        _require_verified(organization, values.email)
        user.email, user.name = values.email, values.name
        try:
            with transaction.atomic():
                user.save(update_fields=["email", "name"])
        except IntegrityError:
            raise ScimError(409, "There is an account of this userName already.", "uniqueness") from None
    elif user.email != values.email:
        raise ScimError(400, "The organisation does not own this account, so its userName stays.", "mutability")
    if values.external_id:
        ScimUser.objects.update_or_create(membership=membership, defaults={"external_id": values.external_id})
    else:
        ScimUser.objects.filter(membership=membership).delete()
    if values.is_active != membership.is_active or (values.is_active and not user.is_active):
        _set_active(membership, is_active=values.is_active)


def _set_active(membership: Membership, *, is_active: bool) -> None:
    """Open or close the organisation to a member, and their account if it belongs to no other organisation.

    A directory activates only the accounts that it has deactivated itself.
    """
    user = membership.user
    elsewhere = Membership.objects.filter(user=user, is_active=True).exclude(pk=membership.pk)
    try:
        with change_access(actor=None, rows=[membership, user]):
            membership.is_active = is_active
            membership.save(update_fields=["is_active"])
            # What a superuser has changed until now, which the lock of `change_access` keeps from changing further.
            user.refresh_from_db(fields=["is_active", "deactivated_by_directory"])
            if not is_owned(membership.organization, user):
                return
            if is_active and user.deactivated_by_directory == membership.organization_id:
                _save_activity(user, is_active=True, directory=None)
            elif not is_active and not elsewhere.exists():
                if user.is_active:
                    _save_activity(user, is_active=False, directory=membership.organization_id)
                # For good: an account that is activated later does not get them back.
                end_sign_ins(user, requested_at=timezone.now(), method="directory")
    except AccessChangeRefused as error:
        raise ScimError(409, str(error)) from None


def _save_activity(user: User, *, is_active: bool, directory: uuid.UUID | None) -> None:
    user.is_active, user.deactivated_by_directory = is_active, directory
    user.save(update_fields=["is_active", "deactivated_by_directory"])


def _is_verified(organization: Organization, email: str) -> bool:
    domains = SignInDomain.objects.filter(organization=organization, verified_at__isnull=False)
    return domains.filter(domain=email.rpartition("@")[2]).exists()


def _require_verified(organization: Organization, email: str) -> None:
    if len(email) > MAX_EMAIL_CHARACTERS or not User.objects.is_address(email):
        message = f"userName must be one e-mail address of at most {MAX_EMAIL_CHARACTERS} characters."
        raise ScimError(400, message, "invalidValue")
    if not _is_verified(organization, email):
        message = "userName must be an e-mail address of a verified domain of the organisation."
        raise ScimError(400, message, "invalidValue")


def read_text(body: dict[str, object], name: str, *, required: bool = False) -> str:
    """Return a text of a resource whose attributes are lower-case; empty if it is missing.

    Raises:
        ScimError: If it is no text, too long, or missing although it is required.
    """
    value = body.get(name)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or len(value) > 255 or not is_storable(value) or (required and not value):
        raise ScimError(400, f"{name} must be a text of at most 255 characters.", "invalidValue")
    return value


def _boolean(value: object) -> bool:
    """Entra ID sends booleans as texts."""
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    if not isinstance(value, bool):
        raise ScimError(400, "active must be true or false.", "invalidValue")
    return value
