"""What `make integrations` finds in the product: an organisation with a directory and an identity provider."""

from dataclasses import dataclass

from django.utils import timezone

from orgs.models import GroupMapping, IdentityProvider, Membership, ScimToken, SignInDomain
from orgs.scim import tokens
from ragsite.postgres import encryption
from tests.support.factories import World

CLIENT_ID, CLIENT_SECRET = "ragsite", "a secret of the client"
EMAIL = "ada@home.example"


@dataclass(frozen=True)
class Connected:
    """The organisation's credentials for its directory, and its identity provider."""

    scim_token: str
    provider: IdentityProvider


def create(issuer: str) -> Connected:
    """Connect the organisation `home`: the group `writers` gives the role editor and the team support."""
    home = World.create().home
    SignInDomain.objects.create(organization=home, domain="home.example", verified_at=timezone.now())
    token = ScimToken(organization=home)
    secret = tokens.renew(token)
    token.save()
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


def rights() -> tuple[list[str], list[str]]:
    """Return the roles and teams of the person who signs in."""
    membership = Membership.objects.get(user__email=EMAIL)
    return [role.name for role in membership.roles.all()], [team.name for team in membership.teams.all()]
