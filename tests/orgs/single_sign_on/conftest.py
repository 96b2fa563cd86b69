"""An identity provider of the organisation `home`."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from orgs.models import GroupMapping, IdentityProvider, SignInDomain
from orgs.single_sign_on import discovery
from ragsite.postgres import encryption
from tests.support.factories import World
from tests.support.servers.identity_provider import CLIENT_ID, CLIENT_SECRET, IdentityProviderServer

EMAIL = "ada@home.example"


@pytest.fixture
def server(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[IdentityProviderServer]:
    monkeypatch.setattr(discovery, "_cache", {})  # an earlier provider could have had the same port
    settings.RAG_SIGN_IN_PRIVATE_HOSTS = ["127.0.0.1"]
    with IdentityProviderServer().running() as server:
        server.person = {"sub": "1", "email": EMAIL, "name": "Ada", "groups": ["writers", "unknown"]}
        yield server


@pytest.fixture
def provider(world: World, server: IdentityProviderServer) -> IdentityProvider:
    """The provider of `home`, whose group `writers` gives the role editor and the team support."""
    provider: IdentityProvider = IdentityProvider.objects.create(
        organization=world.home,
        name="Keycloak",
        issuer=server.issuer,
        client_id=CLIENT_ID,
        client_secret=encryption.encrypt(CLIENT_SECRET, encryption.Purpose.IDENTITY_PROVIDER),
    )
    role, team = world.home.roles.get(name="editor"), world.home.teams.get(name="support")
    GroupMapping.objects.create(provider=provider, group="writers", role=role, team=team)
    SignInDomain.objects.create(organization=world.home, domain="home.example", verified_at=timezone.now())
    return provider
