"""Creates the organisations, users, sources and documents that tests use, and does a worker's part in process."""

import datetime
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.contrib.auth.hashers import make_password
from django.db import transaction
from django.utils import timezone

from accounts.models import User
from orgs.access.permissions import DEFAULT_ROLES, Scope, Visibility
from orgs.api_keys import key_lifecycle
from orgs.models import Membership, Organization, Role, Team
from rag.models import DataSource, EmbeddingModel, IngestionDocument
from rag.pipeline.ingestion import index, parse_chunk_embed
from rag.services.ingestion import batch_indexing, build_submissions, document_processing, synchronous_ingestion
from rag.services.ingestion.queue import claims
from rag.services.ingestion.stage_timings import StageTimings
from rag.services.maintenance.indexes import apply_index_changes
from rag.types import IndexOutcome, Submission
from ragsite.postgres.models import new_revision
from tests.support.data.rows import insert_rows

PASSWORD = "correct horse battery"
# Name, organisation, role.
PEOPLE = (
    ("owner", "home", "owner"),
    ("admin", "home", "admin"),
    ("editor", "home", "editor"),
    ("member", "home", "member"),
    ("supporter", "home", "member"),
    ("foreigner", "abroad", "editor"),
)


@dataclass(frozen=True)
class World:
    """Two organisations with users.

    Attributes:
        home: Has the users owner, admin, editor, member and supporter (in the team `support`).
        abroad: Has one user, foreigner, with the role editor.
        users: User by name.
    """

    home: Organization
    abroad: Organization
    users: dict[str, User]

    @classmethod
    def create(cls) -> "World":
        """Create what orgs.creation would create, in one statement and without audit events."""
        organizations = {name.lower(): Organization(name=name, slug=name.lower()) for name in ("Home", "Abroad")}
        home, abroad = organizations.values()
        roles = {
            (slug, name): Role(organization=organization, name=name, permissions=permissions)
            for slug, organization in organizations.items()
            for name, permissions in DEFAULT_ROLES.items()
        }
        team = Team(organization=home, name="support")
        password = make_password(PASSWORD)
        users = {name: User(email=f"{name}@{slug}.example", password=password) for name, slug, _ in PEOPLE}
        members = {name: Membership(user=users[name], organization=organizations[slug]) for name, slug, _ in PEOPLE}
        assignments = [
            Membership.roles.through(membership=members[name], role=roles[slug, role]) for name, slug, role in PEOPLE
        ]
        in_team = Membership.teams.through(membership=members["supporter"], team=team)
        people = (*users.values(), *members.values(), *assignments, in_team)
        insert_rows([home, abroad, *roles.values(), team, *people])
        return cls(home, abroad, users)

    def source(self, slug: str = "library", **fields: Any) -> DataSource:
        """Create a data source of `home`: public, unless `fields` say otherwise."""
        values = {
            "organization": self.home,
            "name": slug,
            "visibility": Visibility.PUBLIC,
            "owner": self.users["owner"],
            "embedding_model": EmbeddingModel.objects.default(),
            **fields,
        }
        return DataSource.objects.create(slug=slug, **values)

    def key(self, user: str, *scopes: str, **fields: Any) -> key_lifecycle.IssuedKey:
        """Issue an API key of this user for `home`: with every scope, unless `scopes` are given."""
        values = {"organization": self.home, "name": "key", "scopes": scopes or Scope.values, **fields}
        return key_lifecycle.issue(user=self.users[user], **values)


def ingest_text(source: DataSource, path: str, text: str, **fields: Any) -> IndexOutcome:
    """Ingest a document in process; it is searchable when this returns."""
    submission = Submission(path=path, title=fields.pop("title", path), text=text, **fields)
    return synchronous_ingestion.ingest_now(source=source, submission=submission)


def ingest_texts(source: DataSource, texts: Mapping[str, str], **fields: Any) -> None:
    """Ingest documents (path → text) together, as a worker does that has claimed all of them."""
    ingest_together(source, *(Submission(path=path, title=path, text=text, **fields) for path, text in texts.items()))


def ingest_together(source: DataSource, *submissions: Submission) -> None:
    """The same for documents that differ in more than their text. Much faster than one after the other."""
    options = build_submissions.default_chunking_options()
    documents = [
        parse_chunk_embed.parse_and_chunk(submission, source=source, options=options) for submission in submissions
    ]
    prepared = parse_chunk_embed.embed_documents(documents, source, on_batch=lambda done: None)
    with transaction.atomic():
        apply_index_changes.apply_soon()
        index.index_documents({new_revision(): document for document in prepared}, source=source)


def process_claimed(row: IngestionDocument) -> None:
    """Parse, embed and write a claimed row as its worker does. Raises LeaseEnded if the lease has ended."""
    source = row.job.source
    cut = parse_chunk_embed.parse_and_chunk(
        build_submissions.submission_of(row), source=source, options=build_submissions.chunking_options_of(row)
    )
    (prepared,) = parse_chunk_embed.embed_documents([cut], source, on_batch=lambda done: None)
    batch_indexing.write_batch([batch_indexing.ParsedWork(row, cut, StageTimings())], [prepared])


def claim_document(document_id: uuid.UUID) -> IngestionDocument | None:
    """Claim this document as a worker does; None if it cannot be claimed. Other queued documents are postponed."""
    queued = IngestionDocument.objects.filter(state=IngestionDocument.State.QUEUED, due_at=None)
    other_ids = list(queued.exclude(pk=document_id).values_list("pk", flat=True))
    other_documents = IngestionDocument.objects.filter(pk__in=other_ids)
    other_documents.update(due_at=timezone.now() + datetime.timedelta(hours=1))
    try:
        return next(iter(claims.claim_next(1)), None)
    finally:
        other_documents.update(due_at=None)


def process_documents(*, ids: Sequence[uuid.UUID]) -> None:
    """Claim and process these documents in this order; those that cannot be claimed are skipped."""
    rows = [row for document_id in ids if (row := claim_document(document_id))]
    for _, source_rows in groupby(rows, key=lambda row: row.source_id):
        document_processing.process_documents(list(source_rows))


def process_queue(at_once: int = 8) -> int:
    """Claim and process documents until none can be claimed; return how many were claimed."""
    claimed = 0
    while rows := claims.claim_next(at_once):
        document_processing.process_documents(rows)
        claimed += len(rows)
    return claimed
