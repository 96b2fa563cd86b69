"""Who may list and revoke the API keys of members: in random worlds, for every user and key, in both layers."""

import pytest
from hypothesis import Phase, given, settings

from orgs.access import organization_resolver
from orgs.access.permissions import Permission
from orgs.models import ApiKey
from ragsite.postgres import identity
from tests.access import check_counts
from tests.access.rule import oracle
from tests.access.worlds import build, worlds
from tests.support.data.database import rolled_back

pytestmark = pytest.mark.django_db


@given(world=worlds())
@settings(max_examples=20, phases=set(Phase) - {Phase.explain})
def test_keys_of_members_are_visible_to_those_who_manage_members(world: oracle.World) -> None:
    with rolled_back():
        rows = build(world)
        for user, key, caller in rows.callers():
            if user is None:
                continue
            managed = {
                home for home in world.organizations if key is None and oracle.manages_members(world, user, home)
            }
            expected = {
                row.pk
                for key_in_world, row in rows.keys.items()
                if key_in_world.user == user or key_in_world.organization in managed
            }
            with identity.run_as(caller.database_identity):
                assert set(ApiKey.objects.values_list("pk", flat=True)) == expected
            if key is None and user.active and not user.superuser:
                organizations = organization_resolver.organizations_with_permission(
                    caller.authenticated_user, Permission.MEMBERS_MANAGE
                )
                assert {organization.name for organization in organizations} == {home.name for home in managed}
            check_counts.count("lists of members' keys compared")
