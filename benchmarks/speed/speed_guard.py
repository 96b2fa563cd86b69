"""make guard: compares the computing of searches and of ingestion with that of their bare parts, in the same run.

The bare parts of a search are embedding the question and both searches of the store, and that of ingestion is embedding
the chunks. Each is measured in turn with its bare parts, in this process and in PostgreSQL, as CPU time, which other
work on the machine hardly changes. A ratio may be half as much again as it was when the limits were set, so that only
a real change fails. PostgreSQL must also choose the indexes by itself.
"""

import functools
import itertools
import os
import secrets
import statistics
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.support.set_up import set_up_django

if TYPE_CHECKING:
    from accounts.models import User
    from rag.models import DataSource

# The largest ratios of CPU time to the bare parts: half as much again as was measured.
MAX_RATIOS = {"/api/rag/search": 1.6, "/api/rag/retrieve": 2.35, "/api/rag/query": 3.0, "a job": 1.8}
_BODIES: dict[str, Callable[[str], object]] = {
    "/api/rag/search": lambda question: {"query": question, "topK": 5},
    "/api/rag/retrieve": lambda question: {"query": question, "topK": 10},  # reranked
    "/api/rag/query": lambda question: {"query": question},
}
# Chunks beside the real documents, and above how many of them searches use the index of vectors. In tables with
# ten times as many, all are compared if the index does not lead to near ones.
_FILL, _EXACT_LIMIT = 4_000, 300
_DOCUMENTS, _QUESTIONS, _WARM_UP = 100, 40, 4
_JOB_DOCUMENTS, _JOBS = 50, 4
# How many documents have the word that is looked up.
_RARE = 10
# No search reads these as a whole, and each uses these indexes.
_TABLES = ("rag_chunk", "rag_chunkterms", "rag_embedding384", "rag_chunktokensignatures")
_INDEXES = ("embedding384_hnsw", "terms_words")


def main() -> int:
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    os.environ["RAG_GROUNDING"] = "local"
    set_up_django()
    from django.conf import settings
    from django.core.management import call_command

    from accounts.models import User
    from benchmarks.support import corpus
    from orgs.creation import add_member, create_organization
    from rag.models import DataSource, EmbeddingModel
    from ragsite.postgres.base import run_as_owner

    settings.ALLOWED_HOSTS = [*settings.ALLOWED_HOSTS, "testserver"]
    settings.RAG_EXACT_SEARCH_MAX_CHUNKS = _EXACT_LIMIT
    with run_as_owner():
        call_command("migrate", verbosity=0)
    (Path(os.environ["RAGSITE_DATA"]) / "static").mkdir(exist_ok=True)  # the web server's middleware misses it
    documents = corpus.documentation(_DOCUMENTS)
    for document in documents[:_RARE]:
        document["text"] += " There is a zebra."
    name = f"guard-{secrets.token_hex(4)}"
    organization = create_organization(name=name, slug=name)
    user = User.objects.create_user(f"{name}@guard.example", None)
    add_member(user=user, organization=organization, roles=("editor",))
    model = EmbeddingModel.objects.default()

    def new_source(slug: str) -> DataSource:
        return DataSource.objects.create(organization=organization, slug=slug, name=slug, embedding_model=model)

    try:
        _fill(new_source("main"), user, documents)
        wrong = unused_indexes(user)
        ratios = measure_searches(user, documents)
        ratios["a job"] = measure_jobs(new_source, user, documents[:_JOB_DOCUMENTS])
    finally:
        organization.delete()
        user.delete()
    wrong += describe_excess(ratios)
    for line in wrong:
        print(line)
    if not wrong:
        print(", ".join(f"{what} {ratio:.2f} of {MAX_RATIOS[what]}" for what, ratio in ratios.items()))
    return 1 if wrong else 0


def describe_excess(ratios: dict[str, float]) -> list[str]:
    """A sentence for each ratio that is too large."""
    return [
        f"{what} takes {ratio:.2f} times the CPU time of its bare parts, and may take {MAX_RATIOS[what]}."
        for what, ratio in ratios.items()
        if ratio > MAX_RATIOS[what]
    ]


def _fill(source: "DataSource", user: "User", documents: list[dict[str, str]]) -> None:
    """Ingest the documents, write the generated chunks, and build the index of vectors."""
    from django.db import connection, transaction

    from benchmarks.speed import generated_chunks
    from rag.providers import provider_factory
    from ragsite.postgres.base import run_as_owner

    store = provider_factory.chunk_store()
    store.drop_vector_index(384)
    _run_job(source, user, documents)
    with transaction.atomic():
        version = generated_chunks.create_version(
            source, _FILL, [document["text"] for document in documents], np.random.default_rng(1)
        )
        store.write([version], model=source.embedding_model)
    store.build_vector_index(384)
    with run_as_owner(), connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def unused_indexes(user: "User") -> list[str]:
    """Search once; return a sentence for each table that was read as a whole, and each index that was not used."""
    from django.db import connection, transaction

    from orgs.access.caller import Caller
    from rag.services.queries import permitted_queries
    from rag.services.queries.source_selection import SourceSelection
    from rag.types import Mode, Question
    from ragsite.postgres import identity

    caller = Caller(user)

    def scans() -> dict[str, int]:
        with connection.cursor() as cursor:
            query = "SELECT name, pg_stat_get_xact_numscans(name::regclass) FROM unnest(%s::text[]) AS name"
            cursor.execute(query, [[*_TABLES, *_INDEXES]])
            return dict(cursor.fetchall())

    with transaction.atomic():
        before = scans()
        with identity.run_as(caller.database_identity):
            question = Question("Which zebra?", 10, mode=Mode.HYBRID, rerank=True)
            permitted_queries.search(question, SourceSelection(caller))
        after = scans()
    sentences = [f"A search read the whole table {name}." for name in _TABLES if after[name] > before[name]]
    return sentences + [f"A search did not use the index {name}." for name in _INDEXES if after[name] == before[name]]


def measure_searches(user: "User", documents: list[dict[str, str]]) -> dict[str, float]:
    """Return the ratio of each path: of the medians of the questions, which nothing that happens at times changes."""
    from django.test import Client
    from rest_framework_simplejwt.tokens import AccessToken

    from rag.models import DataSource, EmbeddingModel
    from rag.pipeline.embed_question import clear_kept_questions, embed_question
    from rag.pipeline.retrieval.find_candidates import MAX_CANDIDATES
    from rag.providers import provider_factory
    from rag.providers.stores.search_types import ScopeQuery
    from rag.types import Mode, SearchScope

    client = Client(headers={"Authorization": f"Bearer {AccessToken.for_user(user)}"})
    model, store = EmbeddingModel.objects.default(), provider_factory.chunk_store()
    sources = DataSource.objects.filter(organization__memberships__user=user).values_list("pk", flat=True)
    scope = SearchScope(tuple(sources), model.pk)

    def ask(path: str, question: str) -> None:
        clear_kept_questions()  # both sides embed the question
        reply = client.post(path, _BODIES[path](question), content_type="application/json")
        if reply.status_code != 200:
            raise RuntimeError(f"{path}: {reply.status_code} {reply.content.decode()}")

    def search_bare(question: str) -> None:
        clear_kept_questions()
        vector = embed_question(question, model=model)
        for mode, query in ((Mode.DENSE, ScopeQuery(scope, vector)), (Mode.LEXICAL, ScopeQuery(scope, None))):
            store.search(question, [query], mode=mode, limit=MAX_CANDIDATES)

    works: dict[str, Callable[[str], None]] = {path: functools.partial(ask, path) for path in _BODIES}
    questions = [f"What is said about {' '.join(document['text'].split()[:8])}?" for document in documents]
    medians = _medians(works | {"": search_bare}, questions[: _QUESTIONS + _WARM_UP], warm_up=_WARM_UP)
    return {path: medians[path] / medians[""] for path in _BODIES}


def measure_jobs(new_source: "Callable[[str], DataSource]", user: "User", documents: list[dict[str, str]]) -> float:
    """Return the ratio of a job to embedding its chunks."""
    from benchmarks.ingestion import jobs
    from rag.models import EmbeddingModel
    from rag.providers import provider_factory

    texts = jobs.embedded_texts(documents)
    embedder = provider_factory.embedder(EmbeddingModel.objects.default())
    numbers = itertools.count()

    def embed(_: str) -> None:
        embedder.embed(texts)

    def run_job(_: str) -> None:
        _run_job(new_source(f"job-{next(numbers)}"), user, documents)

    medians = _medians({"job": run_job, "": embed}, [""] * (_JOBS + 1), warm_up=1)
    return medians["job"] / medians[""]


def _run_job(source: "DataSource", user: "User", documents: Sequence[dict[str, str]]) -> None:
    from rag.services.ingestion import build_submissions
    from rag.services.ingestion.document_processing import process_next
    from rag.services.jobs.create_job import create_job
    from rag.types import Submission

    submissions = [Submission(document["path"], document["title"], document["text"]) for document in documents]
    options = build_submissions.default_chunking_options()
    job = create_job(source=source, submissions=submissions, options=options, actor=user)
    process_next(count=len(documents))
    if source.documents.count() != len(documents):
        errors = job.documents.exclude(error_message="").values_list("error_message", flat=True)
        raise RuntimeError(f"not everything was ingested: {list(errors[:3])}")


def _medians(works: dict[str, Callable[[str], None]], arguments: Sequence[str], *, warm_up: int) -> dict[str, float]:
    """Do each work in turn with each argument; return its median CPU time without that of the first `warm_up`."""
    from benchmarks.search.one_client import Timings
    from benchmarks.support.cpu_clock import CpuClock

    cpu_clock = CpuClock(Path(os.environ["RAGSITE_DATA"]))
    timings = {name: Timings(cpu_clock) for name in works}
    for argument in arguments:
        for name, work in works.items():
            timings[name].time(work, argument)

    def median(measured: Any) -> float:
        pairs = zip(measured.cpu_here[warm_up:], measured.cpu_elsewhere[warm_up:], strict=True)
        return statistics.median(map(sum, pairs))

    return {name: median(measured) for name, measured in timings.items()}


if __name__ == "__main__":
    sys.exit(main())
