"""How much an organisation lets each of its people ask, where it is not the platform's default."""

from orgs.models import AnyUser, Membership


def requests_per_minute(user: AnyUser, field: str, *, default: int, named: str = "") -> int:
    """Requests a minute: the limit of the organisation named by slug or id, else the most generous of the user's own.

    field: one of Organization's `…_per_minute`. An organisation without a limit of its own has the default; so has a
    name that is none of theirs.
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
