"""Data of every kind, so that every page has something to show."""

from dataclasses import dataclass

from accounts.models import User
from orgs.access.permissions import Visibility
from orgs.models import IdentityProvider, Protocol, Role, Team
from rag.models import DataSource, GoldenQuestion, Grant, IngestionDocument, IngestionJob
from rag.services.ingestion import build_submissions, document_outcomes
from rag.services.jobs.create_job import create_job
from rag.types import Submission
from tests.support.factories import World, ingest_text, process_queue

ZEBRAS = "# Zebras\n\nThe zebra sleeps standing up, and it weighs about 300 kilograms.\n\nIt eats grass in the morning."
QUESTION = "How much does a zebra weigh?"
LONG_PATH = "handbooks/2026/animals-of-the-savanna/part-one-mammals/hoofed-animals/striped/zebras-of-the-plains.md"


@dataclass(frozen=True)
class Site:
    """Accounts of every kind, in an organisation with sources of every visibility.

    Attributes:
        source: Public, with a document about zebras.
        failed: A job whose only document has failed.
        provider: The organisation's identity provider, with SAML.
    """

    world: World
    superuser: User
    source: DataSource
    failed: IngestionJob
    provider: IdentityProvider

    @property
    def users(self) -> dict[str, User]:
        return {**self.world.users, "superuser": self.superuser}

    @classmethod
    def create(cls, world: World) -> "Site":
        for name in ("owner", "admin", "editor"):
            User.objects.filter(pk=world.users[name].pk).update(is_staff=True)
        superuser = User.objects.create_superuser("operator@home.example", "a long enough password")
        source = world.source("animals", name="Animals", description="What lives in the savanna.")
        ingest_text(source, LONG_PATH, ZEBRAS, title="Zebras", lang="en", tags=("animals", "savanna"))
        for visibility, grant in (
            (Visibility.ROLE, {"role": Role.objects.get(organization=world.home, name="editor")}),
            (Visibility.TEAM, {"team": Team.objects.get(name="support")}),
            (Visibility.PRIVATE, {"user": world.users["member"]}),
            (Visibility.PERSONAL, {}),
        ):
            opened = world.source(f"for-{visibility}", name=f"For {visibility}", visibility=visibility)
            if grant:
                Grant.objects.create(source=opened, granted_by=world.users["owner"], **grant)
        GoldenQuestion.objects.create(source=source, question=QUESTION, path=LONG_PATH)
        world.key("editor", name="A key")
        submit_document(source, world.users["owner"], "ants.md", "Ants carry many times their own weight.")
        process_queue()
        failed = submit_document(source, world.users["owner"], "broken-" + LONG_PATH, "Whatever it said.")
        row = failed.documents.get()
        IngestionDocument.objects.filter(pk=row.pk).update(state=IngestionDocument.State.RUNNING)
        row.refresh_from_db()
        document_outcomes.record_failure(
            row, "PARSE_ERROR", "The file is damaged. Save it again and send it once more."
        )
        provider = IdentityProvider.objects.create(
            organization=world.home, name="Entra ID", protocol=Protocol.SAML, issuer="https://idp.example/saml"
        )
        return cls(world, superuser, source, IngestionJob.objects.get(pk=failed.pk), provider)


def submit_document(source: DataSource, user: User, path: str, text: str) -> IngestionJob:
    submissions = [Submission(path=path, title=path, text=text)]
    return create_job(
        source=source, submissions=submissions, options=build_submissions.default_chunking_options(), actor=user
    )
