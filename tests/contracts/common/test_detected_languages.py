"""Documents without a language from the client: language filters find them by the detected language."""

from collections.abc import Callable

from rag.models import Document, IngestionJob
from tests.support import factories
from tests.support.factories import World
from tests.support.http import Client

Api = Callable[..., Client]
GERMAN = "Die Fahrräder stehen im Hof hinter der Küche. Die Schlüssel hängen am Empfang."
FRENCH = "Les vélos sont garés dans la cour, derrière la cuisine. Les clés sont à l'accueil."


def ingest(client: Client, path: str, text: str, **fields: str) -> None:
    """Send a job with one document and process it."""
    document = {"path": path, "text": text, **fields}
    reply = client.post("/api/rag/ingest", {"dataSourceId": "library", "documents": [document]})
    assert reply.status == 202, reply
    job = IngestionJob.objects.get(pk=reply.body["jobId"])
    factories.process_documents(ids=list(job.documents.values_list("pk", flat=True)))
    job.refresh_from_db()
    assert job.status == IngestionJob.Status.COMPLETED


def find_documents(client: Client, lang: str) -> list[tuple[str, str]]:
    body = {"query": "Fahrräder", "topK": 10, "filters": [{"field": "lang", "value": lang}]}
    reply = client.post("/api/rag/retrieve", body)
    return [(document["path"], document["lang"]) for document in reply.body["documents"]] if reply.status == 200 else []


def test_a_detected_language_can_be_filtered_and_survives_repeated_ingestion(api: Api, live_world: World) -> None:
    """The pipeline contract, sub-contract 2: the filter by `lang`."""
    live_world.source()
    editor = api("editor")
    ingest(editor, "hof", GERMAN)
    ingest(editor, "cour", FRENCH)
    ingest(editor, "code", "x = 4711")
    ingest(editor, "stated", GERMAN + " Ende.", lang="de-AT")
    assert find_documents(editor, "de") == [("hof", "de")]
    assert find_documents(editor, "fr") == [("cour", "fr")]
    assert find_documents(editor, "de-AT") == [("stated", "de-AT")], "the client's value is kept"
    assert Document.objects.get(path="code").lang == ""
    before = Document.objects.get(path="hof")
    ingest(editor, "hof", GERMAN)
    repeated = Document.objects.get(path="hof")
    assert (repeated.lang, repeated.revision > before.revision) == ("de", True)
    assert find_documents(editor, "de") == [("hof", "de")]
    # A client may state a language later; the language of new content is detected again.
    ingest(editor, "hof", GERMAN, lang="de-CH")
    assert find_documents(editor, "de-CH") == [("hof", "de-CH")]
    ingest(editor, "hof", FRENCH)
    assert find_documents(editor, "de-CH") == []
    assert ("hof", "fr") in find_documents(editor, "fr")


def test_synchronous_ingestion_detects_the_language_too(api: Api, live_world: World) -> None:
    """The v3 contract, 2.1."""
    live_world.source()
    editor = api("editor")
    for _ in range(2):
        assert (
            editor.post("/api/rag/ingest", {"source": "library", "text": GERMAN, "title": "Hof", "path": "hof"}).status
            == 200
        )
        assert [lang for _, lang in find_documents(editor, "de")] == ["de"]
