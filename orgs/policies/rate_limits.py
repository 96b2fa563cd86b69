"""Rate limits that organisations set for their members in place of the platform's defaults."""

from orgs.models import AnyUser, Membership


def requests_per_minute(user: AnyUser, field: str, *, default: int, named: str = "") -> int:
    """Return how many requests per minute a user may send.

    Args:
        field: The limit: one of the `…_per_minute` fields of Organization.
        default: The limit of organisations that set none, and of users without an organisation.
        named: The organisation to use, by slug or id. If empty, the highest limit of the user's organisations applies.
            The default applies if the user is not a member of the named organisation.
    """
    limits_by_organization = Membership.objects.active_for(user).values_list(
        "organization__slug", "organization", f"organization__{field}"
    )
    limits = [
        limit or default
        for slug, key, limit in limits_by_organization
        if not named or named == slug or named.lower() == str(key)
    ]
    return max(limits, default=default)
