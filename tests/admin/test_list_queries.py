"""The number of queries of the admin's lists does not grow with their rows."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from orgs.models import Membership, Role, Team
from rag.admin import large_lists
from rag.models import Document, Grant, IngestionDocument, IngestionJob
from rag.services.operations import row_counts
from ragsite.postgres.base import run_as_owner
from tests.support.browsers import staff_browser
from tests.support.factories import World

LISTS = ("document", "ingestionjob", "ingestiondocument", "datasource")
OPTIONS = {"chunk_size": 256, "chunk_overlap": 64}


def add_rows(world: World, first: int, number: int) -> None:
    """Add so many sources, documents, jobs and job documents, each of a source of its own."""
    for index in range(first, first + number):
        source = world.source(f"source-{index}")
        job = IngestionJob.objects.create(source=source, created_by=world.users["editor"], **OPTIONS)
        about = {"path": f"{index}.md", "title": f"Page {index}", "content_hash": f"{index:064x}", "chunk_count": 2}
        Document.objects.create(
            source=source, content_type="text/markdown", source_type="doc", revision=job.pk, **about, **OPTIONS
        )
        for position, state in enumerate(("done", "failed", "done")):
            IngestionDocument.objects.create(job=job, source=source, index=position, state=state, **about)


@pytest.mark.parametrize("name", LISTS)
def test_a_list_takes_as_many_queries_for_many_rows_as_for_few(world: World, name: str) -> None:
    client, counts = staff_browser(world.users["owner"]), []
    for first, number in ((0, 3), (3, 12)):
        add_rows(world, first, number)
        client.get(f"/admin/rag/{name}/")
        with CaptureQueriesContext(connection) as queries:
            page: Any = client.get(f"/admin/rag/{name}/")
        assert page.context["cl"].result_count >= first + number
        counts.append(len(queries))
    assert counts[0] == counts[1]
    assert counts[1] <= 22


@pytest.mark.parametrize(
    "page", ["orgs/role/", "orgs/membership/", "orgs/team/add/", "rag/datasource/{source}/change/"]
)
def test_a_page_takes_as_many_queries_for_many_teams_as_for_few(world: World, page: str) -> None:
    source, counts = world.source(visibility="team"), []
    address = f"/admin/{page.format(source=source.pk)}"
    client = staff_browser(world.users["owner"])
    for numbers in (range(3), range(3, 15)):
        for number in numbers:
            team = Team.objects.create(organization=world.home, name=f"team-{number}")
            role = Role.objects.create(organization=world.home, name=f"role-{number}")
            for grantee in ({"team": team}, {"role": role}):
                Grant.objects.create(source=source, granted_by=world.users["owner"], **grantee)
        client.get(address)
        with CaptureQueriesContext(connection) as queries:
            assert client.get(address).status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_the_list_of_jobs_is_newest_first_or_in_the_chosen_order(world: World) -> None:
    add_rows(world, 0, 3)
    client = staff_browser(world.users["owner"])
    for query, slugs in (("", [2, 1, 0]), ("?o=1", [0, 1, 2]), ("?o=-1", [2, 1, 0])):
        page: Any = client.get(f"/admin/rag/ingestionjob/{query}")
        assert [job.source.slug for job in page.context["cl"].result_list] == [f"source-{slug}" for slug in slugs]


def test_the_list_of_jobs_counts_each_job_s_documents(world: World) -> None:
    add_rows(world, 0, 2)
    empty = IngestionJob.objects.create(source=world.source("empty"), **OPTIONS)
    page: Any = staff_browser(world.users["owner"]).get("/admin/rag/ingestionjob/")
    counts = {job.pk: (job.total, job.done, job.failed, job.chunks) for job in page.context["cl"].result_list}
    assert counts.pop(empty.pk) == (0, 0, 0, 0)
    assert set(counts.values()) == {(3, 2, 1, 6)}


def test_only_numbers_of_very_many_rows_are_remembered(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    add_rows(world, 0, 3)
    client = staff_browser(world.users["owner"])

    def counted() -> tuple[int, list[int]]:
        documents: Any = client.get("/admin/rag/document/")
        sources: Any = client.get("/admin/rag/datasource/")
        numbers = [source.document_count for source in sources.context["cl"].result_list]
        return documents.context["cl"].result_count, sorted(numbers)

    assert counted() == (3, [1, 1, 1])
    Document.objects.filter(path="0.md").delete()
    assert counted() == (2, [0, 1, 1])
    monkeypatch.setattr(row_counts, "_MAX_COUNTED_ROWS", 1)
    for _ in range(2):
        assert counted() == (2, [0, 1, 1])
        Document.objects.filter(path="1.md").delete()


@pytest.mark.parametrize("words", ["übersicht 50%", "ÜBERSICHT A_B", r"B\C 50%_", '"50%_a"', "PAGES/50"])
def test_a_search_ignores_case_and_takes_characters_of_patterns_literally(world: World, words: str) -> None:
    add_rows(world, 0, 2)
    Document.objects.filter(path="0.md").update(title=r"Übersicht 50%_a_b\c", path="pages/50.md")
    Document.objects.filter(path="1.md").update(title="ubersicht 500 axb", path="pages5.md")
    page: Any = staff_browser(world.users["owner"]).get("/admin/rag/document/", {"q": words})
    assert [document.path for document in page.context["cl"].result_list] == ["pages/50.md"]


def test_a_search_folds_texts_by_ascii_where_its_word_allows(world: World) -> None:
    """With the rules of Unicode, a search of 100,000 documents spends most of its time on folding."""
    rows = Document.objects.filter(title__contains_word="Plain")
    assert "COLLATE" in str(rows.query)
    assert "UPPER" in str(Document.objects.filter(title__contains_word="Größe").query)


def test_a_search_matches_long_titles_as_well_and_shows_the_newest_first(world: World) -> None:
    """Long titles and paths do not fit into an entry of the index, which has the others."""
    add_rows(world, 0, 3)
    long_title = "Ω" * 1000
    Document.objects.filter(path="1.md").update(title=f"Page {long_title}", path=f"{'p' * 1990}.md")
    page: Any = staff_browser(world.users["owner"]).get("/admin/rag/document/", {"q": "page"})
    assert [document.title for document in page.context["cl"].result_list] == ["Page 2", f"Page {long_title}", "Page 0"]


def plan_of(world: World, path: str, part: str) -> str:
    """Return how PostgreSQL executes the statement of a list that has this part, without reading whole tables.

    The tables are emptied first: what earlier tests deleted makes some indexes larger than others, so they cost more.
    """
    with CaptureQueriesContext(connection) as queries:
        staff_browser(world.users["owner"]).get(path)
    statement = next(query["sql"] for query in queries if part in query["sql"])
    with run_as_owner(), connection.cursor() as cursor:
        cursor.execute("TRUNCATE rag_document, rag_ingestiondocument CASCADE")
        for other in ("seqscan", "bitmapscan", "sort"):
            cursor.execute(f"SET LOCAL enable_{other} = off")
        cursor.execute("EXPLAIN " + statement.replace("%", "%%"), [])
        return "\n".join(row[0] for row in cursor.fetchall())


def test_a_search_of_documents_reads_titles_and_paths_from_an_index_the_newest_first(world: World) -> None:
    plan = plan_of(world, "/admin/rag/document/?q=page", "LIKE")
    assert "Index Only Scan Backward using document_names" in plan, plan
    assert "using document_long_names" in plan
    assert "Sort Key: rag_document.id DESC\n        ->  Limit" in plan, "each part stops at enough matches"


def test_jobs_with_errors_are_looked_up_in_an_index_of_failed_documents(world: World) -> None:
    plan = plan_of(world, "/admin/rag/ingestionjob/?status__exact=completed+with+errors", "COUNT(")
    assert "using failed_documents_of_job" in plan, plan


@pytest.mark.parametrize("path", ["rag/document/", "rag/ingestionjob/", "accounts/auditevent/", "orgs/membership/"])
def test_a_search_compares_rows_with_a_few_words_only(world: World, path: str) -> None:
    """1,900 words fit into an address, and each is compared with several columns of all rows."""
    words = " ".join(f"word{number}" for number in range(300))
    with CaptureQueriesContext(connection) as queries:
        page = staff_browser(world.users["owner"]).get(f"/admin/{path}", {"q": words})
    searched = {number for number in range(300) if any(f"word{number}%" in query["sql"] for query in queries)}
    assert (page.status_code, searched) == (200, set(range(20)))


@pytest.mark.parametrize("name", LISTS)
def test_a_list_may_be_empty(world: World, name: str) -> None:
    page: Any = staff_browser(world.users["owner"]).get(f"/admin/rag/{name}/", {"q": "nothing has this name"})
    assert (page.status_code, page.context["cl"].result_count) == (200, 0)


def test_the_count_of_job_documents_is_remembered(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their list computes a column from the time of the request, which must not make each count another one."""
    add_rows(world, 0, 1)
    client = staff_browser(world.users["owner"])
    monkeypatch.setattr(row_counts, "_MAX_COUNTED_ROWS", 1)
    for _ in range(2):
        page: Any = client.get("/admin/rag/ingestiondocument/")
        assert page.context["cl"].result_count == 3
        IngestionDocument.objects.filter(index=0).delete()


def test_very_many_rows_are_sorted_only_after_a_filter(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    add_rows(world, 0, 3)
    client = staff_browser(world.users["owner"])

    def titles(**chosen: str) -> list[str]:
        page: Any = client.get("/admin/rag/document/", {"o": "1", **chosen})
        return [document.title for document in page.context["cl"].result_list]

    assert titles() == ["Page 0", "Page 1", "Page 2"]
    monkeypatch.setattr(large_lists, "_MAX_SORTED_ROWS", 2)
    assert titles() == ["Page 2", "Page 1", "Page 0"], "the newest first"
    source = Document.objects.get(title="Page 1").source
    assert titles(source__id__exact=str(source.pk)) == ["Page 1"]


def test_the_matches_of_a_search_are_read_by_the_page(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    add_rows(world, 0, 5)
    monkeypatch.setattr(large_lists.LargeListMixin, "list_per_page", 2)
    client, counted = staff_browser(world.users["owner"]), list[bool]()

    def titles(**chosen: str) -> list[str]:
        with CaptureQueriesContext(connection) as queries:
            page: Any = client.get("/admin/rag/document/", {"q": "page", **chosen})
        assert page.context["cl"].result_count == 5
        counted.append(any("COUNT(" in query["sql"] for query in queries))
        return [document.title for document in page.context["cl"].result_list]

    assert titles(p="2") == ["Page 2", "Page 1"]
    assert titles(p="3") == ["Page 0"]
    assert not any(counted), "their number is known"
    assert titles(o="1") == ["Page 0", "Page 1"], "in another order all matches are sorted"


def test_the_sidebar_asks_once_for_each_permission(world: World) -> None:
    client = staff_browser(world.users["owner"])
    client.get("/admin/rag/webhook/")
    with CaptureQueriesContext(connection) as queries:
        client.get("/admin/rag/syncrun/")
    assert len(queries) <= 30


def test_the_page_of_a_row_asks_once_whether_its_user_sees_the_row(world: World) -> None:
    member = Membership.objects.get(user=world.users["member"], organization=world.home)
    client = staff_browser(world.users["owner"])
    with CaptureQueriesContext(connection) as queries:
        assert client.get(f"/admin/orgs/membership/{member.pk}/change/").status_code == 200
    looks = 'SELECT 1 AS "a" FROM "orgs_membership"'
    assert sum(query["sql"].startswith(looks) for query in queries) == 1
