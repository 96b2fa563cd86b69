"""The accounts of the run: some may query the data source, the others must never see a passage of it."""

from dataclasses import dataclass

from accounts.models import User
from orgs.access.permissions import Scope, Visibility
from orgs.api_keys import key_lifecycle
from orgs.creation import add_member, create_organization
from orgs.models import Organization, Team
from rag.models import DataSource, EmbeddingModel, Grant

SOURCE, UNDISTURBED = "shared", "undisturbed"
_TEAM = "readers"


@dataclass(frozen=True, slots=True)
class People:
    """API keys by what their users may do.

    Attributes:
        senders: Send documents and search; members of the team that may query the source.
        readers: Only search.
        others: Members of the organisation without the team, and of another organisation.
        leaving: A member of the team until `leave` is called.
    """

    senders: tuple[str, ...]
    readers: tuple[str, ...]
    others: tuple[str, ...]
    leaving: str
    leaving_user: User
    sources: dict[str, DataSource]

    def leave(self) -> None:
        """Take the user out of the team: from the commit on, no search may find anything."""
        membership = self.leaving_user.memberships.get()
        membership.teams.clear()


def create_people(*, senders: int, readers: int, embeddings_url: str) -> People:
    """Create the organisations, the accounts and the two data sources of one team."""
    home, abroad = (create_organization(name=slug, slug=slug) for slug in ("home", "abroad"))
    model = EmbeddingModel.objects.create(name="cluster", provider="openai", dimensions=384, base_url=embeddings_url)
    keys = {
        name: _key(name, organization, role=role, teams=teams)
        for name, organization, role, teams in (
            *((f"sender-{number}", home, "editor", (_TEAM,)) for number in range(senders)),
            *((f"reader-{number}", home, "member", (_TEAM,)) for number in range(readers)),
            ("colleague", home, "member", ()),
            ("administrator", home, "admin", ()),
            ("stranger", abroad, "owner", (_TEAM,)),
            ("leaving", home, "member", (_TEAM,)),
        )
    }
    sources = {}
    for slug in (SOURCE, UNDISTURBED):
        sources[slug] = DataSource.objects.create(
            organization=home, slug=slug, name=slug, visibility=Visibility.TEAM, embedding_model=model
        )
        Grant.objects.create(source=sources[slug], team=Team.objects.get(organization=home, name=_TEAM))
    return People(
        tuple(keys[f"sender-{number}"] for number in range(senders)),
        tuple(keys[f"reader-{number}"] for number in range(readers)),
        (keys["colleague"], keys["administrator"], keys["stranger"]),
        keys["leaving"],
        User.objects.get(email="leaving@cluster.example"),
        sources,
    )


def _key(name: str, organization: Organization, *, role: str, teams: tuple[str, ...]) -> str:
    user = User.objects.create_user(f"{name}@cluster.example", None)
    add_member(user=user, organization=organization, roles=(role,), teams=teams)
    return key_lifecycle.issue(user=user, organization=organization, name=name, scopes=Scope.values).secret
