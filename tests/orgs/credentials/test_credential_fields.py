"""Queries leave credentials out, even those that join the table; the attribute reads them."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from orgs.models import ApiKey, Membership
from tests.support.factories import World

pytestmark = pytest.mark.django_db


def test_joins_read_no_credential(world: World) -> None:
    key = world.key("member", "query").key
    with CaptureQueriesContext(
        connection,
    ) as queries:
        (stored,) = ApiKey.objects.select_related("user", "organization").filter(pk=key.pk)
        assert Membership.objects.select_related("user").filter(user=stored.user).get().user == stored.user
    assert all('"password"' not in query["sql"] and '"hash"' not in query["sql"] for query in queries)
    assert {"password"} <= stored.user.get_deferred_fields()
    assert {"hash"} <= stored.get_deferred_fields()


def test_the_attribute_reads_a_credential_and_saving_keeps_it(world: World) -> None:
    user = world.users["member"]
    user.set_password("a long enough phrase")
    user.save()
    stored = User.objects.get(pk=user.pk)
    stored.name = "Ada"
    stored.save()
    assert User.objects.get(pk=user.pk).check_password("a long enough phrase")
