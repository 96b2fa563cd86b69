"""The admin pages "Re-embed" and "Quality" of a data source: permissions and actions."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts.models import User
from orgs.access.permissions import Visibility
from rag.models import DataSource, EmbeddingModel, GoldenQuestion, QualityRun, Reembedding
from rag.services.evaluation import quality
from rag.services.reembedding import background, lifecycle
from tests.support.browsers import staff_browser
from tests.support.factories import World, ingest_text
from tests.support.servers.provider_server import ProviderServer

State = Reembedding.State
PAGES = ("reembed", "quality", "unanswered", "golden-questions.csv")


@pytest.fixture
def second(world: World, model_provider: ProviderServer) -> EmbeddingModel:
    return EmbeddingModel.objects.create(
        name="second", provider="openai", dimensions=384, base_url=model_provider.base_url
    )


@pytest.fixture
def source(world: World, second: EmbeddingModel) -> DataSource:
    source = world.source("domestic")
    ingest_text(source, "zebras.txt", "A secret about zebras.")
    return source


def page_url(source: DataSource, name: str) -> str:
    return f"/admin/rag/datasource/{source.pk}/{name}/"


def text(client: Client, url: str) -> str:
    reply = client.get(url)
    assert reply.status_code == 200
    return reply.content.decode()


def act(client: Client, source: DataSource, action: str, **values: Any) -> str:
    row = lifecycle.get_current(source)
    values = {"action": action, "reembedding": row.pk if row else "", **values}
    reply = client.post(page_url(source, "reembed"), values, follow=True)
    assert reply.status_code == 200
    return reply.content.decode()


def test_the_page_says_what_to_do_while_there_is_one_model(world: World) -> None:
    url = page_url(world.source(), "reembed")
    EmbeddingModel.objects.exclude(pk=EmbeddingModel.objects.default().pk).delete()
    page = text(staff_browser(world.users["owner"]), url)
    assert "There is no other model yet" in page
    assert "ask a superuser" in page
    assert 'value="Start"' not in page
    assert "/admin/rag/embeddingmodel/add/" in text(
        staff_browser(User.objects.create_superuser("root@home.example", "x")), url
    )


def test_the_page_marks_the_step_of_a_reembedding(world: World, source: DataSource, second: EmbeddingModel) -> None:
    client = staff_browser(world.users["owner"])
    assert '<li aria-current="step">Choose a model</li>' in text(client, page_url(source, "reembed"))
    assert '<li aria-current="step">Build the new vectors</li>' in act(client, source, "start", model=second.pk)


@pytest.mark.parametrize("end", PAGES)
def test_only_managers_open_the_pages(world: World, source: DataSource, end: str) -> None:
    url = page_url(source, end)
    assert Client().get(url).status_code == 302, "sign in first"
    for name in ("editor", "member", "foreigner"):
        assert staff_browser(world.users[name]).get(url).status_code == 403
        reply = staff_browser(world.users[name]).post(url, {"action": "start"})
        assert reply.status_code == (405 if "csv" in end else 403)
    abroad = world.source("foreign", organization=world.abroad, owner=world.users["foreigner"])
    owner = staff_browser(world.users["owner"])
    assert owner.get(page_url(abroad, end)).status_code == 404
    assert owner.post(page_url(abroad, end), {"action": "start"}).status_code == (405 if "csv" in end else 404)
    assert owner.get(url).status_code == 200
    assert not Reembedding.objects.exists()


def test_actions_need_a_csrf_token(world: World, source: DataSource) -> None:
    owner = world.users["owner"]
    staff_browser(owner)
    client = Client(enforce_csrf_checks=True)
    client.force_login(owner)
    assert client.post(page_url(source, "reembed"), {"action": "start"}).status_code == 403
    assert "csrfmiddlewaretoken" in text(client, page_url(source, "reembed"))


def test_all_steps_of_a_reembedding(world: World, source: DataSource, second: EmbeddingModel) -> None:
    client = staff_browser(world.users["owner"])
    url = page_url(source, "reembed")
    assert f'href="{url}"' in text(client, f"/admin/rag/datasource/{source.pk}/change/")
    page = text(client, url)
    assert ">second<" in page
    assert "all-MiniLM-L6-v2</option>" not in page, "the current model is not offered"
    page = act(client, source, "start", model=second.pk)
    assert 'http-equiv="refresh"' in page
    assert "A worker counts the chunks" in page
    background.advance_due()
    page = text(client, url)
    assert 'http-equiv="refresh"' not in page
    assert "1 of 1 chunks" in page
    assert "cannot compare the two models" in page
    assert "Searches will use the new model" in text(client, f"{url}?do=switch")
    assert "Searches now use second" in act(client, source, "switch")
    assert "do=drop" in text(client, url)
    act(client, source, "roll_back")
    background.advance_due()
    assert DataSource.objects.get().embedding_model.name == "all-MiniLM-L6-v2"
    assert "deletes the old vectors" in act(client, source, "drop")
    Reembedding.objects.update(due_at=None)
    background.advance_due()
    act(client, source, "start", model=second.pk)
    assert "Cancelled" in act(client, source, "cancel")
    page = text(client, url)
    for expected in ("Rolled Back", "Dropped", "Cancelled", world.users["owner"].email):
        assert expected.lower() in page.lower()
    started = set(Reembedding.objects.values_list("started_by__email", flat=True))
    assert started == {world.users["owner"].email}


def test_actions_of_an_outdated_page_are_ignored(world: World, source: DataSource, second: EmbeddingModel) -> None:
    client = staff_browser(world.users["owner"])
    first = lifecycle.start(source, second)
    lifecycle.cancel(first)
    background.advance_due()
    lifecycle.start(source, second)
    assert "changed in the meantime" in act(client, source, "cancel", reembedding=first.pk)
    assert Reembedding.objects.latest("pk").state == State.BUILDING
    assert client.post(page_url(source, "reembed"), {"action": "start", "model": "x"}).status_code == 400
    assert "no old vectors" in act(client, source, "drop")
    assert "no old vectors" in act(client, source, "roll_back")
    assert "not ready" in act(client, source, "switch")


def test_a_failed_quality_gate_is_overridden_with_a_reason(
    world: World, source: DataSource, second: EmbeddingModel
) -> None:
    GoldenQuestion.objects.create(source=source, question="zebras", path="zebras.txt")
    client = staff_browser(world.users["owner"])
    row = lifecycle.start(source, second)
    background.advance_due()
    QualityRun.objects.filter(model=second).update(ndcg_at_10=0.5)
    url = page_url(source, "reembed")
    page = text(client, url)
    assert "is worse on the golden questions" in page
    assert "0.500" in page
    assert 'name="because"' in text(client, f"{url}?do=switch")
    assert "is worse on the golden questions" in act(client, source, "switch")
    row.refresh_from_db()
    assert row.state == State.READY
    assert "The quality gate was overridden: It is cheaper &lt;b&gt;" in act(
        client, source, "switch", because="It is cheaper <b>"
    )
    assert DataSource.objects.get().embedding_model == second


def test_saving_a_source_keeps_a_model_that_was_switched_meanwhile(
    world: World, source: DataSource, second: EmbeddingModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The switch happens between loading the form and saving it."""
    real = DataSource.save

    def save(self: DataSource, *arguments: Any, **options: Any) -> None:
        DataSource.objects.update(embedding_model=second)
        real(self, *arguments, **options)

    monkeypatch.setattr(DataSource, "save", save)
    values = {
        "name": "Renamed", "slug": "domestic", "visibility": "public", "source_type": "doc",
        "owner": world.users["owner"].pk, "grants-TOTAL_FORMS": 0, "grants-INITIAL_FORMS": 0,
    }  # fmt: skip
    reply = staff_browser(world.users["owner"]).post(f"/admin/rag/datasource/{source.pk}/change/", values)
    assert reply.status_code == 302, reply.content.decode()
    changed = DataSource.objects.get()
    assert (changed.name, changed.embedding_model) == ("Renamed", second)


def test_the_quality_page_shows_figures_and_no_text(world: World, source: DataSource) -> None:
    GoldenQuestion.objects.create(source=source, question="Which animals?", passage="secret about")
    GoldenQuestion.objects.create(source=source, question="Zebras?", path="zebras.txt")
    for _ in range(2):
        quality.measure_and_compare(source)
    QualityRun.objects.filter(pk=quality.list_live_runs(source)[0].pk).update(ndcg_at_10=0.25)
    page = text(staff_browser(world.users["owner"]), page_url(source, "quality"))
    for expected in ("0.250", "1.000", "▼ worse", "zebras.txt", "Which animals?", "<polyline", "are worse than"):
        assert expected in page
    assert "secret" not in page
    assert "<script>" not in page.partition('id="content"')[2]


def test_managers_who_may_not_query_see_no_figures(world: World, source: DataSource, second: EmbeddingModel) -> None:
    """A rank for a question of the manager's choice would show which words a document contains."""
    GoldenQuestion.objects.create(source=source, question="Zebras?", path="zebras.txt")
    lifecycle.start(source, second)
    background.advance_due()
    QualityRun.objects.update(ndcg_at_10=0.25, recall_at_10=0.25, mrr_at_10=0.25)
    DataSource.objects.update(visibility=Visibility.PERSONAL, owner=world.users["member"])
    client = staff_browser(world.users["owner"])
    for page in ("quality", "reembed"):
        content = text(client, page_url(source, page))
        assert "0.250" not in content
        assert "<polyline" not in content
    assert client.post(page_url(source, "quality"), {"action": "measure"}).status_code == 403


def test_import_and_export(world: World, source: DataSource) -> None:
    client = staff_browser(world.users["owner"])
    url = page_url(source, "quality")

    def upload(content: bytes) -> str:
        file = SimpleUploadedFile("golden.csv", content)
        return client.post(url, {"file": file}, follow=True).content.decode()

    assert "Line 3: question is missing" in upload(b"question,path\na,b\n,c")
    assert "Imported 2 golden questions" in upload(b"question,path\na,b\nc,d")
    assert "Imported 1 golden question." in upload(b"question,path\na,b\ne,f")
    assert "Choose a CSV file" in client.post(url, follow=True).content.decode()
    reply = client.get(page_url(source, "golden-questions.csv"))
    assert reply.content.startswith(b"\xef\xbb\xbf"), "Excel reads files without this mark as Latin-1"
    assert reply.content.decode("utf-8-sig").split() == ["question,path,passage", "a,b,", "c,d,", "e,f,"]
    assert "attachment" in reply["Content-Disposition"]
    assert "Measurement queued" in client.post(url, {"action": "measure"}, follow=True).content.decode()


def golden_form(source: DataSource, **values: Any) -> dict[str, Any]:
    return {"source": source.pk, "question": "q", "path": "", "passage": "", "active": "on", **values}


def test_managers_of_a_source_edit_its_golden_questions(world: World, source: DataSource) -> None:
    client = staff_browser(world.users["owner"])
    abroad = world.source("foreign", organization=world.abroad, owner=world.users["foreigner"])
    foreign = GoldenQuestion.objects.create(source=abroad, question="foreign", path="foreign")
    add = "/admin/rag/goldenquestion/add/"
    assert client.post(add, golden_form(source, path="zebras.txt")).status_code == 302
    assert GoldenQuestion.objects.get(source=source).created_by == world.users["owner"]
    assert client.post(add, golden_form(abroad, path="a")).status_code == 200, "not a choice"
    assert "must be found" in client.post(add, golden_form(source)).content.decode()
    assert "foreign" not in text(client, "/admin/rag/goldenquestion/")
    assert client.get(f"/admin/rag/goldenquestion/{foreign.pk}/change/").status_code == 302
    for name in ("editor", "member"):
        assert staff_browser(world.users[name]).get("/admin/rag/goldenquestion/").status_code == 403


def test_a_manager_who_may_not_query_neither_sees_nor_guesses_passages(world: World, source: DataSource) -> None:
    row = GoldenQuestion.objects.create(source=source, question="q", passage="a secret")
    DataSource.objects.update(visibility=Visibility.PERSONAL, owner=world.users["member"])
    client = staff_browser(world.users["owner"])
    change = f"/admin/rag/goldenquestion/{row.pk}/change/"
    assert "secret" not in text(client, change)
    assert "secret" not in text(client, "/admin/rag/goldenquestion/")
    assert client.get("/admin/rag/goldenquestion/?passage__startswith=a").status_code in (302, 400)
    assert (
        client.post(change, {"question": "changed", "path": "", "passage": "guess", "active": "on"}).status_code == 302
    )
    row.refresh_from_db()
    assert (row.question, row.passage) == ("changed", "a secret")
    added = client.post("/admin/rag/goldenquestion/add/", golden_form(source, passage="guess"))
    assert "only be given by those who may query" in added.content.decode()
