"""Organisations with the same synthetic chunks, divided among different numbers of data sources."""

import uuid
from dataclasses import dataclass

import numpy as np
from django.db import connection, transaction
from numpy.typing import NDArray

from accounts.models import User
from benchmarks.search.bulk_rows import source_slugs, write_sources
from benchmarks.search.chunk_copies import copy_chunks
from benchmarks.support import corpus
from orgs.access.permissions import Visibility
from orgs.creation import add_member, create_organization
from orgs.models import Organization
from rag.models import DataSource, Document, EmbeddingModel
from rag.providers import provider_factory
from rag.providers.stores.store_writes import DocumentVersion
from rag.types import ChunkDraft
from ragsite.postgres.models import uuid7

_CLUSTERS, _SPREAD = 300, 0.6
# Chunks per transaction. Each source's statistics are locked until it ends.
_BATCH = 500
# Sources of the closed organisation that each of its users may query, in per mille.
SCOPES = (1, 10, 100, 1000)


@dataclass(frozen=True)
class Reader:
    """A user of the library and what they may query.

    Attributes:
        sources: The number of sources that the user may query.
        slugs: Slugs of these sources.
    """

    label: str
    user: User
    sources: int
    slugs: list[str]


class Library:
    """Organisations of this benchmark. Each method creates what is missing, so that a second run only measures.

    Attributes:
        texts, vectors: Of each chunk. The vectors are around those of `centres`, or around random ones.
    """

    def __init__(
        self, chunk_count: int, *, words: int = 60, tokens: int = 40, centres: NDArray[np.float32] | None = None
    ) -> None:
        self._chunk_count = chunk_count
        self._model = EmbeddingModel.objects.default()
        random = np.random.default_rng(1)
        middles = random.standard_normal((_CLUSTERS, 384)) if centres is None else centres
        noise = _SPREAD * random.standard_normal((chunk_count, 384))
        vectors = middles[random.integers(0, len(middles), chunk_count)] + noise
        self.vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
        vocabulary = np.array(" ".join(document["text"] for document in corpus.documents(limit=2_000)).split())
        self.texts = [" ".join(random.choice(vocabulary, words)) for _ in range(chunk_count)]
        self._signatures = random.integers(0, 256, (chunk_count, tokens, 48), np.uint8)

    def open_reader(self, source_count: int) -> Reader:
        """A member of an organisation whose sources are all public."""
        slug = f"open-{source_count}-{self._chunk_count}"
        organization = Organization.objects.filter(slug=slug).first() or self._create(slug, source_count)
        user = _get_or_create_member(organization, "all")
        return Reader(f"{source_count:,} public sources", user, source_count, source_slugs(source_count))

    def members(self, source_count: int, count: int) -> list[User]:
        """Members of the organisation with as many public sources."""
        organization = Organization.objects.get(slug=f"open-{source_count}-{self._chunk_count}")
        return [_get_or_create_member(organization, f"member-{number}") for number in range(count)]

    def closed_readers(self, source_count: int) -> list[Reader]:
        """Members of an organisation whose sources are private, who may query a part of them."""
        slug = f"closed-{source_count}-{self._chunk_count}"
        organization = Organization.objects.filter(slug=slug).first()
        organization = organization or self._create(slug, source_count, Visibility.PRIVATE)
        readers = []
        for per_mille in SCOPES:
            slugs = source_slugs(source_count)[:: 1000 // per_mille]
            label = f"{len(slugs):,} of {source_count:,} private sources"
            user = _get_or_create_member(organization, f"of-{per_mille}")
            readers.append(Reader(label, user, len(slugs), slugs))
        return readers

    def closed_numbers(self, source_count: int) -> NDArray[np.int64]:
        """The number of each chunk's source, as its slug in the organisation with private sources has it."""
        slug = f"closed-{source_count}-{self._chunk_count}"
        slugs = DataSource.objects.filter(organization__slug=slug).order_by("pk").values_list("slug", flat=True)
        numbers = np.array([int(slug.removeprefix("source-")) for slug in slugs])
        return numbers[np.arange(self._chunk_count) * source_count // self._chunk_count]

    def _create(self, slug: str, source_count: int, visibility: str = Visibility.PUBLIC) -> Organization:
        provider_factory.chunk_store().drop_vector_index(384)  # building it again takes less time than inserting
        return self._fill(slug, source_count, visibility)

    @transaction.atomic
    def _fill(self, slug: str, source_count: int, visibility: str) -> Organization:
        organization = create_organization(name=slug, slug=slug)
        readers = {}
        if visibility == Visibility.PRIVATE:
            readers = {
                1000 // per_mille: _get_or_create_member(organization, f"of-{per_mille}") for per_mille in SCOPES
            }
        fields = {"visibility": visibility, "embedding_model": self._model}
        write_sources(organization, source_count, readers=readers, **fields)
        if template := Organization.objects.filter(slug=f"open-5-{self._chunk_count}").exclude(slug=slug).first():
            copy_chunks(template, organization, sources=source_count, chunks=self._chunk_count)
        else:
            self._write_chunks(list(DataSource.objects.filter(organization=organization).order_by("pk")))
        return organization

    def _write_chunks(self, sources: list[DataSource]) -> None:
        source_of_chunk = np.arange(self._chunk_count) * len(sources) // self._chunk_count
        store = provider_factory.chunk_store()
        for start in range(0, self._chunk_count, _BATCH):
            numbers = range(start, min(start + _BATCH, self._chunk_count))
            groups: dict[int, list[int]] = {}
            for number in numbers:
                groups.setdefault(int(source_of_chunk[number]), []).append(number)
            versions = [self._version(sources[source], group) for source, group in groups.items()]
            with transaction.atomic():
                Document.objects.bulk_create([version.document for version in versions])
                store.write(versions, model=self._model)

    def _version(self, source: DataSource, numbers: list[int]) -> DocumentVersion:
        document = Document(
            source=source, path=str(uuid7()), title="", text="", content_hash="", chunk_size=1, chunk_overlap=0,
            chunk_count=len(numbers), revision=uuid7(), source_type="doc", lang="en",
        )  # fmt: skip
        return DocumentVersion(
            document=document,
            chunks=[ChunkDraft(place, place, place + 1, self.texts[n], (), 1) for place, n in enumerate(numbers)],
            digests=[uuid.uuid4() for _ in numbers],
            new_indexes=range(len(numbers)),
            vectors=self.vectors[numbers],
            signatures=[self._signatures[n] for n in numbers],
            is_new=True,
        )


def build_index() -> None:
    """Build the vector index, and refresh the planner's statistics."""
    store = provider_factory.chunk_store()
    if not any(index.is_built for index in store.vector_indexes() if index.dimensions == 384):
        store.build_vector_index(384)
    with connection.cursor() as cursor:
        cursor.execute("SET ROLE NONE")
        cursor.execute("VACUUM ANALYZE")


def _get_or_create_member(organization: Organization, name: str) -> User:
    email = f"{name}@{organization.slug}.example"
    user = User.objects.filter(email=email).first()
    if user is None:
        user = User.objects.create_user(email, password=email)
        add_member(user=user, organization=organization)
    return user
