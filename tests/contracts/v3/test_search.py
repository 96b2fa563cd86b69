"""The v3 contract, 1 (searchSimilarChunks) and 2.2: POST /api/rag/search with `query`, over HTTP."""

import itertools
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection

from rag.models import DataSource
from rag.models.content.pgvector_tables import Embedding384
from ragsite.postgres import identity
from tests.support.checks import snapshots
from tests.support.factories import World, ingest_text
from tests.support.http import Client, LocalClient

Api = Callable[..., Client]
DOCUMENT = {"source": "github", "path": "/doc", "title": "Zebras", "text": "Zebras have stripes."}


def test_search_has_exactly_the_contracts_fields(api: Api, live_world: World) -> None:
    outcome = ingest_text(live_world.source(), "/zebra", "Zebras have stripes.", title="Zebras", tags=("animal",))
    reply = api("member").post("/api/rag/search", {"query": "What do zebras look like?"})
    assert reply.status == 200
    snapshots.assert_matches("v3-search", reply.body)
    (result,) = reply.body["results"]
    score = result.pop("score")
    assert 0.3 < score <= 1
    assert reply.body == {
        "query": "What do zebras look like?",
        "resultCount": 1,
        "results": [
            {
                "text": "Zebras have stripes.",
                "metadata": {
                    "documentId": str(outcome.document_id),
                    "source": "library",
                    "path": "/zebra",
                    "title": "Zebras",
                    "chunkIndex": 0,
                    "tags": ["animal"],
                },
            }
        ],
    }


@pytest.fixture
def find_paths(api: Api, live_world: World) -> Callable[..., list[str]]:
    """Searches three documents in each of two sources, and checks the form of each response."""
    animals, plants = live_world.source("animals"), live_world.source("plants")
    for name in ("zebra", "lion", "horse"):
        ingest_text(animals, name, f"The {name} is an animal.", tags=(name, "animal"))
    ingest_text(plants, "oak", "The oak is a tree.", tags=("tree",))
    ingest_text(plants, "elm", "The elm is a tree.")
    ingest_text(plants, "ash", "The ash is a tree.")
    member = api("member")

    def paths(**options: Any) -> list[str]:
        reply = member.post("/api/rag/search", {"query": "Tell me about the zebra", **options})
        assert reply.status == 200, reply
        scores = [result["score"] for result in reply.body["results"]]
        assert all(0 <= score <= 1 for score in scores)
        assert scores == sorted(scores, reverse=True)
        assert reply.body["resultCount"] == len(scores)
        return [result["metadata"]["path"] for result in reply.body["results"]]

    return paths


def test_search_is_sorted_and_bounded(find_paths: Callable[..., list[str]]) -> None:
    """1: "Return top K results sorted by score descending"; topK and minScore."""
    assert find_paths()[0] == "zebra"
    assert len(find_paths()) == 5, "topK, unless given"
    assert len(find_paths(topK=20)) == 6
    assert find_paths(topK=1) == ["zebra"]
    assert find_paths(minScore=0.99) == []


def test_search_is_filtered_by_source_and_tags(find_paths: Callable[..., list[str]]) -> None:
    assert sorted(find_paths(filters={"source": "plants"})) == ["ash", "elm", "oak"]
    assert find_paths(filters={"source": "plants", "tags": ["tree", "zebra"]}) == ["oak"]
    assert find_paths(filters={"source": "nowhere"}) == []
    assert sorted(find_paths(filters={"tags": ["lion", "tree"]})) == ["lion", "oak"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"topK": 0}, "topK"),
        ({"topK": 21}, "topK"),
        ({"topK": "5"}, "topK"),
        ({"topK": 2.5}, "topK"),
        ({"topK": True}, "topK"),
        ({"minScore": 1.1}, "minScore"),
        ({"minScore": -0.1}, "minScore"),
        ({"minScore": "0.5"}, "minScore"),
        ({"query": ""}, "query"),
        ({"query": 7}, "query"),
        ({"query": "x" * 2001}, "query"),
        ({"filters": []}, "filters"),
        ({"filters": {"tags": "x"}}, "filters.tags"),
    ],
)
def test_search_validation(api: Api, change: dict[str, Any], field: str) -> None:
    """2.2, Validation Rules."""
    reply = api("member").post("/api/rag/search", {"query": "zebra", **change})
    assert (reply.status, reply.body["error"], reply.body["details"]["field"]) == (400, "Validation error", field)


def test_a_whole_number_may_be_written_as_5_0(api: Api, live_world: World) -> None:
    """JSON has one kind of number (docs/contracts/v3.md)."""
    assert api("member").post("/api/rag/search", {"query": "zebra", "topK": 5.0}).status == 200
    for wrong in (b"5.5", b"1e400", b"21.0"):
        reply = api("member").post("/api/rag/search", b'{"query": "zebra", "topK": ' + wrong + b"}")
        assert (reply.status, reply.body["details"]["field"]) == (400, "topK")


def test_an_empty_body_is_rejected_because_query_is_required(api: Api) -> None:
    reply = api("member").post("/api/rag/search", {})
    details = {"field": "query", "message": "query is required", "request_id": reply.headers["x-request-id"]}
    assert reply.body["details"] == details


def test_a_negative_similarity_is_reported_as_0(api: Api, live_world: World) -> None:
    """Shared rules: "cosine similarity in 0…1 (negative is reported as 0)"; no tags: an empty list."""
    ingest_text(live_world.source(), "a", "Zebras have stripes.")
    row = Embedding384.objects.get()
    row.embedding = [-value for value in row.embedding]
    row.save()
    (result,) = api("member").post("/api/rag/search", {"query": "Zebras have stripes."}).body["results"]
    assert (result["score"], result["metadata"]["tags"]) == (0, [])


def test_users_of_two_organisations_do_not_see_each_others_data(api: Api, live_world: World) -> None:
    ingest_text(live_world.source(), "/secret", "The launch code is 1234.")
    assert api("member").post("/api/rag/search", {"query": "launch code"}).body["resultCount"] == 1
    abroad = api("foreigner")
    assert abroad.post("/api/rag/search", {"query": "launch code"}).body["resultCount"] == 0
    hidden = {"query": "launch code", "filters": {"source": "library"}}
    assert abroad.post("/api/rag/search", hidden).body["resultCount"] == 0
    # The same slug abroad is another source.
    reply = abroad.post("/api/rag/ingest", {**DOCUMENT, "source": "library"})
    assert reply.body["status"] == "created"
    assert DataSource.objects.filter(slug="library").count() == 2


def test_during_replacement_searches_find_the_old_or_the_new_chunks(live_world: World) -> None:
    """Shared rules: "a reader sees the old set or the new, never a mixture or nothing".

    The document is replaced before each statement of a search, and searched before each statement of a replacement.
    """
    source, member = live_world.source(), LocalClient().with_token_of(live_world.users["member"])

    def replace(version: int) -> None:
        ingest_text(source, "/zebra", f"Zebras have stripes, version {version}.")

    def search() -> str:
        (result,) = member.post("/api/rag/search", {"query": "zebra"}).body["results"]
        return str(result["text"])

    replace(0)
    replacements = 0
    while True:  # one more statement of the search comes before the replacement each time
        with before_statement(replacements, in_thread(replace, replacements + 1)) as has_run:
            search()
        if not has_run:
            break
        replacements += 1
        assert search().endswith(f"version {replacements}.")
    assert replacements > 3
    seen = []
    with before_statement(None, in_thread(lambda: seen.append(search()))):
        replace(replacements + 1)
    assert len(seen) > 10
    assert set(seen) == {f"Zebras have stripes, version {replacements}."}
    assert search().endswith(f"version {replacements + 1}.")


def in_thread(function: Callable[..., object], *arguments: Any) -> Callable[[], None]:
    """Return what calls the function with a connection of its own."""

    def run() -> None:
        try:
            with identity.run_as(identity.WORKER):
                function(*arguments)
        finally:
            connection.close()

    def run_in_thread() -> None:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(run).result()

    return run_in_thread


@contextmanager
def before_statement(number: int | None, function: Callable[[], None]) -> Iterator[list[int]]:
    """Call the function before this statement of the block, counted from 0; before each one if it is None.

    Yields the numbers of the statements before which it was called.
    """
    called: list[int] = []
    numbers = itertools.count()

    def execute_after(execute: Callable[..., Any], *arguments: Any) -> Any:
        current = next(numbers)
        if number in (None, current):
            function()
            called.append(current)
        return execute(*arguments)

    with connection.execute_wrapper(execute_after):
        yield called
