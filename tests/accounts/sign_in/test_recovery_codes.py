"""Recovery codes: a new set replaces the earlier one, however many requests ask for it."""

import threading
from concurrent.futures import ThreadPoolExecutor

from django.db import connections
from django_otp.plugins.otp_static.models import StaticDevice

from accounts.models import User
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
    assert sum(is_accepted(user, codes[0]) for codes in sets) == 1


def is_accepted(user: User, code: str) -> bool:
    StaticDevice.objects.update(throttling_failure_count=0)  # a wrong code would delay the next one
    return second_factor.verify(user, code) is not None
