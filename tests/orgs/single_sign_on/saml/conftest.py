"""A SAML provider of the organisation `home`, and a browser that goes to it."""

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from orgs.models import GroupMapping, IdentityProvider, Protocol, SignInDomain
from orgs.single_sign_on.saml import service_provider
from tests.support.factories import World
from tests.support.servers.saml_provider import SamlProvider

EMAIL = "ada@home.example"


@pytest.fixture(scope="session")
def saml_keys() -> SamlProvider:
    """A provider whose key is used by all tests: a key takes a while."""
    return SamlProvider()


@pytest.fixture
def idp(saml_keys: SamlProvider) -> SamlProvider:
    saml_keys.person = {
        "subject": "u-1",
        "attributes": {"email": [EMAIL], "displayName": ["Ada"], "groups": ["writers"]},
    }
    saml_keys.values = {}
    return saml_keys


@pytest.fixture(scope="session")
def our_key() -> str:
    return service_provider.create_key()


@pytest.fixture
def provider(world: World, idp: SamlProvider, our_key: str) -> IdentityProvider:
    """The provider of `home`, whose group `writers` gives the role editor and the team support."""
    provider: IdentityProvider = IdentityProvider.objects.create(
        organization=world.home,
        name="Entra ID",
        protocol=Protocol.SAML,
        issuer=idp.issuer,
        client_secret=our_key,
        sign_in_url=idp.sign_in_url,
        sign_out_url=idp.sign_out_url,
        certificates=idp.certificate,
    )
    role, team = world.home.roles.get(name="editor"), world.home.teams.get(name="support")
    GroupMapping.objects.create(provider=provider, group="writers", role=role, team=team)
    SignInDomain.objects.create(organization=world.home, domain="home.example", verified_at=timezone.now())
    return provider


def metadata(provider: IdentityProvider) -> bytes:
    return Client().get(f"/sign-in/saml/{provider.pk}/metadata").content


def begin(browser: Client, provider: IdentityProvider, idp: SamlProvider, email: str = EMAIL) -> Any:
    """Begin a sign-in, and return the request that the provider receives."""
    page = browser.post("/sign-in/organization", {"email": email})
    assert page.status_code == 200, page.content
    (url,) = re.findall(r'<a href="(https://idp[^"]+)"', page.content.decode())
    url = html.unescape(url)
    assert url.startswith(f"{idp.sign_in_url}&SAMLRequest=")
    return idp.read(url, "SAMLRequest", metadata(provider))


def send(browser: Client, provider: IdentityProvider, response: str) -> Any:
    return browser.post(f"/sign-in/saml/{provider.pk}/response", {"SAMLResponse": response})


def sign_in(browser: Client, provider: IdentityProvider, idp: SamlProvider, **options: Any) -> Any:
    return send(browser, provider, idp.response(begin(browser, provider, idp), **options))
