"""Several people of one organisation, who sign in in different ways, and sources of a local and of a remote model."""

from rest_framework_simplejwt.tokens import RefreshToken

from accounts.models import User
from orgs.access.permissions import Scope, Visibility
from orgs.api_keys import service
from orgs.models import Organization
from orgs.services import add_member, create_organization
from rag.models import DataSource, EmbeddingModel
from rag.services.ingestion import synchronous
from rag.types import Submission

from .traffic import Person

SOURCES = ("local", "remote")


def people(count: int, *, embeddings: str) -> list[Person]:
    """embeddings: the base URL of the remote model."""
    home = create_organization(name="Abuse", slug="abuse")
    users = []
    for number in range(count):
        user = User.objects.create_user(f"person-{number}@abuse.example", None)
        add_member(user=user, organization=home, roles=("admin",))
        users.append(user)
    remote = EmbeddingModel.objects.create(name="abuse", provider="openai", dimensions=384, base_url=embeddings)
    for slug, model in zip(SOURCES, (EmbeddingModel.objects.default(), remote), strict=True):
        source = DataSource.objects.create(
            organization=home, slug=slug, name=slug, visibility=Visibility.PUBLIC, owner=users[0], embedding_model=model
        )
        text = "The spare keys of the yard are where the bikes are."
        synchronous.ingest_now(source=source, submission=Submission(path="keys.md", title="Keys", text=text))
    return [
        Person(f"person-{number}", _credential(user, home, by_key=number % 2 == 0), SOURCES)
        for number, user in enumerate(users)
    ]


def _credential(user: User, home: Organization, *, by_key: bool) -> dict[str, str]:
    if by_key:
        return {"X-API-Key": service.issue(user=user, organization=home, name="abuse", scopes=Scope.values).secret}
    return {"Authorization": f"Bearer {RefreshToken.for_user(user).access_token}", "X-Organization": home.slug}
