"""Rate limits that organisations set for their members in place of the platform's defaults."""

from orgs.models import AnyUser
from ragsite.postgres.base import read_rows

# Composing this statement with Django takes longer than executing it.
_READ = (
    "SELECT organization.slug, organization.id, organization.{field} FROM orgs_membership AS membership "
    "JOIN orgs_organization AS organization ON organization.id = membership.organization_id "
    "WHERE membership.user_id = %s AND membership.is_active AND organization.is_active"
)


def requests_per_minute(user: AnyUser, field: str, *, default: int, named: str = "") -> int:
    """Return how many requests per minute a user may send.

    Args:
        field: The limit: one of the `…_per_minute` fields of Organization.
        default: The limit of organisations that set none, and of users without an organisation.
        named: The organisation to use, by slug or id. If empty, the highest limit of the user's organisations applies.
            The default applies if the user is not a member of the named organisation.
    """
    if user.pk is None or not user.is_active:
        return default
    limits = [
        limit or default
        for slug, key, limit in read_rows(_READ.format(field=field), [user.pk])
        if not named or named == slug or named.lower() == str(key)
    ]
    return max(limits, default=default)
