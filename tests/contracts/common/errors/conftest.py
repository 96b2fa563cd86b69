"""A client of the live server, for all tests of errors."""

import pytest
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer
from rest_framework_simplejwt.tokens import AccessToken

from tests.support.factories import World
from tests.support.http import Client


@pytest.fixture
def client(live_server: LiveServer, live_world: World, settings: Settings) -> Client:
    token = AccessToken.for_user(live_world.users["editor"])
    return Client(live_server.url, {"Authorization": f"Bearer {token}"})
