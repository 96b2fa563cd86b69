"""Fixtures of the rate limits' tests."""

from collections.abc import Callable

import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer
from rest_framework_simplejwt.tokens import AccessToken

from accounts.models import User
from rag.contracts.common import rate_limits
from tests.contracts.common.rate_limits.rate_limit_helpers import create_member, steady_id
from tests.support.factories import World
from tests.support.http import Client

Caller = Callable[..., Client]


@pytest.fixture
def rate_limited(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.RAG_RATE_LIMITS = True
    monkeypatch.setattr(rate_limits, "_uncounted_until", 0.0)


@pytest.fixture
def caller(live_server: LiveServer, live_world: World) -> Caller:
    """caller() is a client of a new member of `home` whose rate limit window lasts at least 30 more seconds."""

    def signed_in(*, address: str = live_server.url, user: User | None = None) -> Client:
        user = user or create_member(live_world, steady_id(seconds=30))
        return Client(address, {"Authorization": f"Bearer {AccessToken.for_user(user)}"})

    return signed_in
