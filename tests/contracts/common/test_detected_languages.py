"""Documents whose client names no language: the filters by language find them all the same, over HTTP."""

from collections.abc import Callable

from rag.models import Document, IngestionJob
from tests.support import factories
from tests.support.factories import World
from tests.support.http import Client

Api = Callable[..., Client]
GERMAN = "Die Fahrräder stehen im Hof hinter der Küche. Die Schlüssel hängen am Empfang."
FRENCH = "Les vélos sont garés dans la cour, derrière la cuisine. Les clés sont à l'accueil."


def ingest(client: Client, path: str, text: str, **fields: str) -> None:
    """A job of one document, and a worker's part of it."""
    document = {"path": path, "text": text, **fields}
    reply = client.post("/api/rag/ingest", {"dataSourceId": "library", "documents": [document]})
    assert reply.status == 202, reply
    job = IngestionJob.objects.get(pk=reply.body["jobId"])
    factories.process_documents(ids=list(job.documents.values_list("pk", flat=True)))
    job.refresh_from_db()
    assert job.status == IngestionJob.Status.COMPLETED


def found(client: Client, lang: str) -> list[tuple[str, str]]:
    body = {"query": "Fahrräder", "topK": 10, "filters": [{"field": "lang", "value": lang}]}
    reply = client.post("/api/rag/retrieve", body)
    return [(each["path"], each["lang"]) for each in reply.body["documents"]] if reply.status == 200 else []


def test_a_detected_language_is_filtered_by_and_stays_on_a_repeat(api: Api, live_world: World) -> None:
    """The pipeline contract, sub-contract 2: the filter by `lang`."""
    live_world.source()
    editor = api("editor")
    ingest(editor, "hof", GERMAN)
    ingest(editor, "cour", FRENCH)
    ingest(editor, "code", "x = 4711")
    ingest(editor, "said", GERMAN + " Ende.", lang="de-AT")
    assert found(editor, "de") == [("hof", "de")]
    assert found(editor, "fr") == [("cour", "fr")]
    assert found(editor, "de-AT") == [("said", "de-AT")], "what the client wrote stays as it is"
    assert Document.objects.get(path="code").lang == ""
    before = Document.objects.get(path="hof")
    ingest(editor, "hof", GERMAN)
    repeated = Document.objects.get(path="hof")
    assert (repeated.lang, repeated.revision > before.revision) == ("de", True)
    assert found(editor, "de") == [("hof", "de")]
    # A client may say so later, and new content is looked at anew.
    ingest(editor, "hof", GERMAN, lang="de-CH")
    assert found(editor, "de-CH") == [("hof", "de-CH")]
    ingest(editor, "hof", FRENCH)
    assert found(editor, "de-CH") == []
    assert ("hof", "fr") in found(editor, "fr")


def test_text_that_is_searchable_at_once_has_its_language_too(api: Api, live_world: World) -> None:
    """The v3 contract, 2.1."""
    live_world.source()
    editor = api("editor")
    for _ in range(2):
        assert (
            editor.post("/api/rag/ingest", {"source": "library", "text": GERMAN, "title": "Hof", "path": "hof"}).status
            == 200
        )
        assert [lang for _, lang in found(editor, "de")] == ["de"]
