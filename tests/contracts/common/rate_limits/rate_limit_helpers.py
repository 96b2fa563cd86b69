"""Helpers of the rate limits' tests."""

import time
import uuid
from typing import Any

from django_ratelimit.core import _get_window

from accounts.models import User
from orgs.creation import add_member
from tests.support.factories import PASSWORD, World
from tests.support.http import Reply


def steady_id(*, period: int = 60, seconds: float, counted: str = "user") -> uuid.UUID:
    """A user id whose current window still lasts this long, so that no test runs past its end."""
    while True:
        key = uuid.uuid4()
        if _get_window(f"{counted} {key}", period) - time.time() > seconds:
            return key


def create_member(world: World, key: uuid.UUID) -> User:
    user = User.objects.create_user(f"{key}@home.example", PASSWORD, pk=key)
    add_member(user=user, organization=world.home)
    return user


def limit_headers(reply: Reply, prefix: str = "x-") -> tuple[int, int, int]:
    return tuple(int(reply.headers[f"{prefix}ratelimit-{name}"]) for name in ("limit", "remaining", "reset"))  # type: ignore[return-value]


# A body that is counted and then rejected, so that no search takes place.
QUERY: dict[str, Any] = {}
