"""Creates people of one organisation, with API keys and tokens, and sources of a local and a remote model."""

from rest_framework_simplejwt.tokens import RefreshToken

from accounts.models import User
from orgs.access.permissions import Scope, Visibility
from orgs.api_keys import key_lifecycle
from orgs.creation import add_member, create_organization
from orgs.models import Organization
from rag.models import DataSource, EmbeddingModel
from rag.services.ingestion import synchronous_ingestion
from rag.types import Submission

from .traffic import Person

SOURCES = ("local", "remote")


def create_people(count: int, *, embeddings_url: str) -> list[Person]:
    """Create the organisation, its users and sources. `embeddings_url` is the base URL of the remote model."""
    organization = create_organization(name="Abuse", slug="abuse")
    users = []
    for number in range(count):
        user = User.objects.create_user(f"person-{number}@abuse.example", None)
        add_member(user=user, organization=organization, roles=("admin",))
        users.append(user)
    remote = EmbeddingModel.objects.create(name="abuse", provider="openai", dimensions=384, base_url=embeddings_url)
    for slug, model in zip(SOURCES, (EmbeddingModel.objects.default(), remote), strict=True):
        source = DataSource.objects.create(
            organization=organization,
            slug=slug,
            name=slug,
            visibility=Visibility.PUBLIC,
            owner=users[0],
            embedding_model=model,
        )
        text = "The spare keys of the yard are where the bikes are."
        synchronous_ingestion.ingest_now(source=source, submission=Submission(path="keys.md", title="Keys", text=text))
    return [
        Person(f"person-{number}", _credential_headers(user, organization, is_key=number % 2 == 0), SOURCES)
        for number, user in enumerate(users)
    ]


def _credential_headers(user: User, organization: Organization, *, is_key: bool) -> dict[str, str]:
    if is_key:
        key = key_lifecycle.issue(user=user, organization=organization, name="abuse", scopes=Scope.values)
        return {"X-API-Key": key.secret}
    return {"Authorization": f"Bearer {RefreshToken.for_user(user).access_token}", "X-Organization": organization.slug}
