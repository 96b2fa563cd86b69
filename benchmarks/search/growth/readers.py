"""Two organisations with private sources, and members who may query a part of them."""

from dataclasses import dataclass

from django.db import transaction

from accounts.models import User
from benchmarks.search.growth.synthetic import SOURCES, TOPICAL
from orgs.access.permissions import Visibility
from orgs.creation import add_member, create_organization
from orgs.models import Organization
from rag.models import DataSource, EmbeddingModel, Grant

# The sizes of scopes, in percent of all chunks, and the first and the number of sources that each has.
PERCENTS = (0.02, 0.1, 1, 3, 10, 50, 100)
# "topics": sources about few clusters; "mixed": sources with chunks of all clusters.
KINDS = {"topics": 0, "mixed": TOPICAL}


@dataclass(frozen=True)
class Part:
    """A part of the sources.

    Attributes:
        first, count: The numbers of its sources.
        tag: The tag that all of its documents have, and no others.
        user: The member who may query its sources, and no others.
    """

    kind: str
    percent: float
    first: int
    count: int
    tag: str
    user: User

    @property
    def label(self) -> str:
        return f"{self.percent:g} % {self.kind}"


def list_parts() -> list[Part]:
    """The parts, without database rows for those of the same sources: 100 % exists once."""
    parts = []
    for kind, first in KINDS.items():
        for percent in PERCENTS:
            is_all = percent == 100
            name = "all" if is_all else f"{kind}-{percent:g}"
            user = User(email=f"{name}@growth.example")
            parts.append(Part(kind, percent, 0 if is_all else first, round(SOURCES * percent / 100), name, user))
    return parts


def tags_of(source: int) -> list[str]:
    """The tags of a source's documents."""
    return sorted({part.tag for part in list_parts() if part.first <= source < part.first + part.count})


@transaction.atomic
def create() -> tuple[list[Part], list[DataSource]]:
    """Create the organisations, sources, members and grants, if they do not exist. Sources are in their order."""
    if not Organization.objects.filter(slug="topics").exists():
        model = EmbeddingModel.objects.default()
        for kind, first in KINDS.items():
            organization = create_organization(name=kind, slug=kind)
            DataSource.objects.bulk_create(
                DataSource(
                    organization=organization, slug=f"source-{number:04}", name=f"Source {number}",
                    visibility=Visibility.PRIVATE, embedding_model=model,
                )
                for number in range(first, first + TOPICAL)
            )  # fmt: skip
    by_slug = {source.slug: source for source in DataSource.objects.filter(organization__slug__in=KINDS)}
    sources = [by_slug[f"source-{number:04}"] for number in range(SOURCES)]
    parts = []
    for part in list_parts():
        user = User.objects.filter(email=part.user.email).first() or _create_user(part, sources)
        parts.append(Part(part.kind, part.percent, part.first, part.count, part.tag, user))
    return parts, sources


def _create_user(part: Part, sources: list[DataSource]) -> User:
    user = User.objects.create_user(part.user.email, password=part.user.email)
    for kind in KINDS:
        if part.tag in ("all", f"{kind}-{part.percent:g}"):
            add_member(user=user, organization=Organization.objects.get(slug=kind))
    chosen = sources[part.first : part.first + part.count]
    Grant.objects.bulk_create([Grant(source=source, user=user) for source in chosen], batch_size=1_000)
    return user
