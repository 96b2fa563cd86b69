"""Users who may open the admin, without and with a second factor."""

import pytest
from django_otp.plugins.otp_totp.models import TOTPDevice

from accounts.models import User
from tests.support.factories import World


@pytest.fixture
def staff(world: World) -> User:
    owner = world.users["owner"]
    owner.is_staff = True
    owner.save()
    return owner


@pytest.fixture
def enrolled(staff: User) -> User:
    TOTPDevice.objects.create(user=staff, confirmed=True)
    return staff
