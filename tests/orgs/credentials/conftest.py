"""Fixtures of the tests of credentials."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client as InProcess
from rest_framework_simplejwt.tokens import AccessToken

from tests.support.factories import World


@pytest.fixture
def post_as(world: World) -> Callable[..., Any]:
    """post_as(user, body, path) sends a POST to the API keys' path with the user's access token."""

    def send(name: str, body: Any, path: str = "") -> Any:
        headers = {"Authorization": f"Bearer {AccessToken.for_user(world.users[name])}"}
        return InProcess().post(f"/api/auth/keys{path}", body, content_type="application/json", headers=headers)

    return send
