"""The people and sources that tests speak of."""

import datetime
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.contrib.auth.hashers import make_password
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import User
from orgs.access.permissions import DEFAULT_ROLES, Scope, Visibility
from orgs.api_keys import service
from orgs.models import Membership, Organization, Role, Team
from rag.models import DataSource, EmbeddingModel, IngestionDocument
from rag.pipeline.ingestion import prepare
from rag.services.ingestion import batch, processing, leases
from rag.services.ingestion.timings import Clock
from rag.types import IndexOutcome, Submission

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
    """`home` has owner, admin, editor, member and supporter (team support); `abroad` a foreigner, who edits there."""

    home: Organization
    abroad: Organization
    users: dict[str, User]

    @classmethod
    def found(cls) -> "World":
        """As orgs.services would, in a few statements and without events: most tests begin with it."""
        home, abroad = _all(Organization, [{"name": name, "slug": name.lower()} for name in ("Home", "Abroad")])
        organizations = {"home": home, "abroad": abroad}
        made = _all(
            Role,
            [
                {"organization": organization, "name": name, "permissions": permissions}
                for organization in organizations.values()
                for name, permissions in DEFAULT_ROLES.items()
            ],
        )
        roles = {(role.organization.slug, role.name): role for role in made}
        (team,) = _all(Team, [{"organization": home, "name": "support"}])
        password = make_password(PASSWORD)
        users = _all(User, [{"email": f"{name}@{slug}.example", "password": password} for name, slug, _ in PEOPLE])
        members = _all(
            Membership,
            [
                {"user": user, "organization": organizations[slug]}
                for user, (_, slug, _) in zip(users, PEOPLE, strict=True)
            ],
        )
        belonging = [
            {"membership": member, "role": roles[slug, role]}
            for member, (_, slug, role) in zip(members, PEOPLE, strict=True)
        ]
        _all(Membership.roles.through, belonging)
        found = cls(home, abroad, {name: user for user, (name, _, _) in zip(users, PEOPLE, strict=True)})
        supporter = next(member for member in members if member.user == found.users["supporter"])
        _all(Membership.teams.through, [{"membership": supporter, "team": team}])
        return found

    def source(self, slug: str = "library", **fields: Any) -> DataSource:
        """A source of `home`, public unless said otherwise."""
        values = {
            "organization": self.home,
            "name": slug,
            "visibility": Visibility.PUBLIC,
            "owner": self.users["owner"],
            "embedding_model": EmbeddingModel.objects.default(),
            **fields,
        }
        return DataSource.objects.create(slug=slug, **values)

    def key(self, user: str, *scopes: str, **fields: Any) -> service.IssuedKey:
        """An API key of that user for `home`, with every scope unless said otherwise."""
        values = {"organization": self.home, "name": "key", "scopes": scopes or Scope.values, **fields}
        return service.issue(user=self.users[user], **values)


def _all(model: Any, rows: list[dict[str, Any]]) -> list[Any]:
    return QuerySet(model).bulk_create([model(**row) for row in rows])


def put(source: DataSource, path: str, text: str, **fields: Any) -> IndexOutcome:
    """A document that is searchable when this returns."""
    submission = Submission(path=path, title=fields.pop("title", path), text=text, **fields)
    return processing.ingest_now(source=source, submission=submission)


def carry_on(row: IngestionDocument) -> None:
    """What the worker does that claimed the row, up to writing it. Raises LeaseLost if it is not its any more."""
    source = row.job.source
    cut = prepare.cut(processing._submission(row), source=source, options=processing._options(row))
    (prepared,) = prepare.embed([cut], source.embedding_model, on_batch=lambda done: None)
    batch.write([batch.Work(row, cut, Clock())], [prepared])


def claim(document_id: uuid.UUID) -> IngestionDocument | None:
    """What a worker takes while nothing else waits; None if this document cannot be taken."""
    waiting = IngestionDocument.objects.filter(state=IngestionDocument.State.QUEUED, due_at=None)
    others = list(waiting.exclude(pk=document_id).values_list("pk", flat=True))
    elsewhere = IngestionDocument.objects.filter(pk__in=others)
    elsewhere.update(due_at=timezone.now() + datetime.timedelta(hours=1))
    try:
        return next(iter(leases.claim_next(1)), None)
    finally:
        elsewhere.update(due_at=None)


def run(*, ids: Sequence[uuid.UUID]) -> None:
    """What a worker does that was given just these, in this order; those that cannot be taken are left."""
    rows = [row for each in ids if (row := claim(each))]
    for _, some in groupby(rows, key=lambda row: row.source_id):
        processing.work_on(list(some))


def work(at_once: int = 8) -> int:
    """What a worker would do until there is nothing to take now; how many documents it took."""
    taken = 0
    while rows := leases.claim_next(at_once):
        processing.work_on(rows)
        taken += len(rows)
    return taken
