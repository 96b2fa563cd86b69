"""Random worlds in which SQL is injected, and what it must not read."""

import os
import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

from orgs.models import Membership
from rag.models import DataSource, Document, Grant
from ragsite.postgres import identity
from ragsite.postgres.identity import Identity
from tests.access.database import injection
from tests.access.rule import oracle
from tests.access.worlds import Rows, add_content, build, worlds
from tests.support.data.database import delete_all_rows

WORLDS = max(1, int(os.environ.get("PROVE_WORLDS", "40")) // 10)
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


@dataclass(frozen=True)
class FilledWorld:
    """A world whose sources have documents.

    Attributes:
        members: The user and the organisation of each membership.
        documents: The source of each document.
    """

    rows: Rows
    members: list[tuple[uuid.UUID, uuid.UUID]]
    documents: dict[uuid.UUID, uuid.UUID]

    @classmethod
    def build(cls, world: oracle.World) -> "FilledWorld":
        delete_all_rows()
        rows = build(world)
        add_content(DataSource.objects.all())
        members = list(Membership.objects.values_list("user_id", "organization_id"))
        return cls(rows, members, dict(Document.objects.values_list("pk", "source_id")))

    def organizations_of(self, user_id: uuid.UUID | None) -> set[uuid.UUID]:
        return {organization for user, organization in self.members if user == user_id}

    def foreign(self, user_id: uuid.UUID | None, sources: Iterable[uuid.UUID]) -> set[uuid.UUID]:
        """The ids of organisations, people, sources and documents that are closed to a user who may see these sources.

        A source names its owner, and people with a grant, who may have left the organisation.
        """
        organizations, sources = self.organizations_of(user_id), set(sources)
        shown = {user for user, organization in self.members if organization in organizations} | {user_id}
        shown |= set(DataSource.objects.filter(pk__in=sources).values_list("owner_id", flat=True))
        shown |= set(Grant.objects.filter(source__in=sources).values_list("user_id", flat=True))
        foreign = {organization for _, organization in self.members} - organizations
        foreign |= {row.pk for row in self.rows.users.values() if row.pk} - shown
        foreign |= {source.pk for source in self.rows.sources.values()} - sources
        return foreign | {document for document, source in self.documents.items() if source not in sources}


def in_random_worlds(test: Callable[..., None]) -> Any:
    """Run the test in a limited number of random worlds. A failing world is shown as it is, not made smaller."""
    limits = settings(
        max_examples=WORLDS,
        phases=set(Phase) - {Phase.shrink, Phase.explain},
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    return given(world=worlds())(limits(test))


def read_foreign(caller: Identity, foreign: set[uuid.UUID], statement: str) -> set[tuple[str, str]]:
    """Read every table without a filter after a hostile statement. Returns the table's name and each foreign id."""
    injection.next_request()
    with identity.run_as(caller):
        if statement:
            injection.execute(statement)
        return {
            (table, pk)
            for table, row in injection.readable_rows(caller.role)
            for pk in _UUID.findall(row)
            if uuid.UUID(pk) in foreign and not _is_own_event(caller, table, row)
        }


def _is_own_event(caller: Identity, table: str, row: str) -> bool:
    """Whether the row is an audit event of the caller, such as a grant to them, which names its organisation."""
    return table == "accounts_auditevent" and caller.user is not None and str(caller.user) in row
