"""Recovery codes: a new set replaces the earlier one, however many requests ask for it."""

import threading
from concurrent.futures import ThreadPoolExecutor

from django.db import connections
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken

from accounts.sign_in import second_factor
from tests.support.factories import World


def test_of_codes_that_are_renewed_at_once_only_one_set_works(live_world: World) -> None:
    user, barrier = live_world.users["editor"], threading.Barrier(4)

    def renew(_: int) -> list[str]:
        connections["default"].ensure_connection()
        barrier.wait()
        try:
            return second_factor.renew_recovery_codes(user)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        sets = list(pool.map(renew, range(4)))
    assert StaticDevice.objects.filter(user=user).count() == 1
    stored = set(StaticToken.objects.values_list("token", flat=True))
    assert sum(second_factor._digest(codes[0]) in stored for codes in sets) == 1
