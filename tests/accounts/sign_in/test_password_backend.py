"""Sign-in with a password: checks need much CPU time, so only a few run at a time (docs/security.md)."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.auth.hashers import MD5PasswordHasher
from django.test import Client

from accounts.models import User
from accounts.sign_in.password_backend import PASSWORD_CHECKS, TooManyPasswordChecks
from ragsite.http.fair_slots import FairSlots
from tests.accounts.sign_in.sign_in_requests import LOCAL_IP, OTHER_IP, request_token, sign_in
from tests.support.factories import World


@pytest.fixture(autouse=True)
def short_wait(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(PASSWORD_CHECKS, "_max_wait_seconds", 0.05)
    settings.RAG_MAX_PASSWORD_CHECKS = 4


@pytest.fixture
def busy() -> Iterator[ExitStack]:
    """All slots are taken, by several addresses."""
    with ExitStack() as stack:
        for number in range(4):
            stack.enter_context(PASSWORD_CHECKS.slot(f"192.0.2.{number}"))
        yield stack


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The passwords that were hashed."""
    passwords: list[str] = []
    original = MD5PasswordHasher.encode

    def encode(self: MD5PasswordHasher, password: str, salt: str) -> str:
        passwords.append(password)
        return original(self, password, salt)

    monkeypatch.setattr(MD5PasswordHasher, "encode", encode)
    return passwords


def test_more_sign_ins_than_slots_are_a_503(busy: ExitStack, staff: User, hashed: list[str]) -> None:
    reply = request_token(staff.email)
    assert (reply.status_code, reply["Retry-After"], set(reply.json())) == (503, "2", {"error", "message", "details"})
    page = sign_in(staff.email)
    assert (page.status_code, page["Retry-After"]) == (503, "2")
    assert b"Too many people" in page.content
    assert hashed == []
    busy.close()
    assert request_token(staff.email).status_code == 200
    assert sign_in(staff.email).status_code == 302


def test_a_refused_check_is_no_failure(busy: ExitStack, staff: User) -> None:
    for _ in range(6):
        assert request_token(staff.email, "wrong").status_code == 503
    busy.close()
    assert request_token(staff.email).status_code == 200


def test_a_lock_is_checked_before_the_password(staff: User, hashed: list[str]) -> None:
    """A locked sign-in costs neither CPU time nor a slot."""
    for _ in range(5):
        request_token(staff.email, "wrong")
    assert len(hashed) == 5
    with ExitStack() as stack:
        for number in range(4):
            stack.enter_context(PASSWORD_CHECKS.slot(f"192.0.2.{number}"))
        assert request_token(staff.email).status_code == 429
        assert sign_in(staff.email).status_code == 429
    assert len(hashed) == 5


def test_unknown_accounts_cost_as_much_as_known_ones(world: World, hashed: list[str]) -> None:
    replies = [request_token(email, "wrong") for email in (world.users["member"].email, "nobody@home.example")]
    assert hashed == ["wrong", "wrong"]
    assert replies[0].json()["message"] == replies[1].json()["message"]
    assert replies[0].json().keys() == replies[1].json().keys()


def test_one_address_cannot_take_all_slots(staff: User) -> None:
    with ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(PASSWORD_CHECKS.slot(LOCAL_IP))
        assert request_token(staff.email, address=LOCAL_IP).status_code == 503
        assert request_token(staff.email, address=OTHER_IP).status_code == 200


def new_limiter(max_wait_seconds: float = 0.05) -> FairSlots:
    return FairSlots(
        lambda: django_settings.RAG_MAX_PASSWORD_CHECKS, TooManyPasswordChecks, max_wait_seconds=max_wait_seconds
    )


def run_checks(limiter: FairSlots, addresses: list[str]) -> tuple[int, int, int]:
    """Check passwords from these addresses at the same time.

    Return how many passed, how many were refused, and the most that ran at once.
    """
    lock, barrier = threading.Lock(), threading.Barrier(len(addresses))
    running = peak = 0

    def check(address: str) -> bool:
        nonlocal running, peak
        barrier.wait()
        try:
            with limiter.slot(address):
                with lock:
                    running += 1
                    peak = max(peak, running)
                time.sleep(0.05)
                with lock:
                    running -= 1
        except TooManyPasswordChecks:
            return False
        return True

    with ThreadPoolExecutor(len(addresses)) as pool:
        passed = sum(pool.map(check, addresses))
    return passed, len(addresses) - passed, peak


def test_checks_wait_for_a_slot_and_few_may_wait() -> None:
    limiter = new_limiter(max_wait_seconds=5)
    assert run_checks(limiter, [f"192.0.2.{number}" for number in range(12)]) == (12, 0, 4)
    assert run_checks(limiter, [f"192.0.2.{number}" for number in range(20)]) == (12, 8, 4)
    assert run_checks(limiter, ["192.0.2.1"] * 6) == (4, 2, 2)
    assert run_checks(limiter, ["192.0.2.1"] * 20 + ["192.0.2.2"])[0] == 5, "the other address gets a slot"
    assert not limiter.in_flight


def test_an_exception_frees_the_slot() -> None:
    limiter = new_limiter()
    with pytest.raises(RuntimeError), limiter.slot("192.0.2.1"):
        raise RuntimeError
    assert not limiter.in_flight


def test_one_slot_works(settings: Any) -> None:
    settings.RAG_MAX_PASSWORD_CHECKS = 1
    with new_limiter().slot("192.0.2.1"):
        pass


def test_sign_ins_take_a_slot(staff: User, monkeypatch: pytest.MonkeyPatch) -> None:
    addresses = []
    original = FairSlots.slot

    def slot(self: FairSlots, address: str | None) -> Any:
        addresses.append(address)
        return original(self, address)

    monkeypatch.setattr(FairSlots, "slot", slot)
    request_token(staff.email, address=OTHER_IP)
    sign_in(staff.email)
    Client().get("/admin/login/")
    assert addresses == [OTHER_IP, LOCAL_IP]
