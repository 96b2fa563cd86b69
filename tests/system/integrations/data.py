"""What `make integrations` finds in the product: an organisation with a directory and an identity provider."""

import uuid
from dataclasses import dataclass

from django.utils import timezone

from orgs.models import GroupMapping, IdentityProvider, Membership, Organization, Protocol, ScimToken, SignInDomain
from orgs.scim import tokens
from orgs.single_sign_on.saml import metadata, service_provider
from ragsite.postgres import encryption
from tests.support.factories import World

CLIENT_ID, CLIENT_SECRET = "ragsite", "a secret of the client"
EMAIL, SAML_EMAIL = "ada@home.example", "ada@abroad.example"


@dataclass(frozen=True)
class Connected:
    """The organisation's credentials for its directory, and its identity provider."""

    scim_token: str
    provider: IdentityProvider


def create(issuer: str) -> Connected:
    """Connect the organisation `home`: the group `writers` gives the role editor and the team support."""
    home = World.create().home
    SignInDomain.objects.create(organization=home, domain="home.example", verified_at=timezone.now())
    row = ScimToken(organization=home)
    secret = tokens.set_new_secret(row)
    row.save()
    provider = IdentityProvider.objects.create(
        organization=home,
        name="oidc-provider",
        issuer=issuer,
        client_id=CLIENT_ID,
        client_secret=encryption.encrypt(CLIENT_SECRET, encryption.Purpose.IDENTITY_PROVIDER),
    )
    role, team = home.roles.get(name="editor"), home.teams.get(name="support")
    GroupMapping.objects.create(provider=provider, group="writers", role=role, team=team)
    return Connected(secret, provider)


@dataclass(frozen=True)
class SamlConnection:
    """What our side of a SAML connection is called, before the provider's metadata is known."""

    provider_id: uuid.UUID
    key: str
    certificate: str


def begin_saml() -> SamlConnection:
    """Create our key for a provider that will be added."""
    provider = IdentityProvider(client_secret=service_provider.create_key())
    return SamlConnection(provider.pk, provider.client_secret, service_provider.read_key(provider)[1])


def connect_saml(connection: SamlConnection, text: str) -> None:
    """Connect the organisation `abroad` with the provider that describes itself so."""
    abroad, described = Organization.objects.get(slug="abroad"), metadata.read_metadata(text)
    SignInDomain.objects.create(organization=abroad, domain="abroad.example", verified_at=timezone.now())
    provider = IdentityProvider.objects.create(
        pk=connection.provider_id,
        organization=abroad,
        name="samlp",
        protocol=Protocol.SAML,
        issuer=described.issuer,
        client_secret=connection.key,
        groups_claim="http://schemas.passportjs.com/groups",
        sign_in_url=described.sign_in_url,
        sign_out_url=described.sign_out_url,
        sign_out_response_url=described.sign_out_response_url,
        certificates=described.certificates,
    )
    role = abroad.roles.get(name="editor")
    GroupMapping.objects.create(provider=provider, group="writers", role=role)


def rights(email: str = EMAIL) -> tuple[list[str], list[str]]:
    """Return the roles and teams of the person who signs in."""
    membership = Membership.objects.get(user__email=email)
    return [role.name for role in membership.roles.all()], [team.name for team in membership.teams.all()]
