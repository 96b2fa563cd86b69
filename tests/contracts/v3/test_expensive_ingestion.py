"""POST /api/rag/ingest with expensive documents: what one request may cost, and what others are answered meanwhile."""

import contextlib
import random
import string
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rag.models import Chunk, DataSource, Document
from rag.pipeline.ingestion import parse_chunk_embed
from rag.providers.limits.cross_process_slots import CrossProcessSlots
from rag.providers.limits.document_limiter import DOCUMENT_LIMITER
from rag.services.ingestion import synchronous_ingestion
from rag.services.ingestion.build_submissions import default_chunking_options
from rag.types import Submission
from tests.support.factories import World
from tests.support.http import Client, Reply

Api = Callable[..., Client]
DOCUMENT = {"source": "github", "path": "/doc", "title": "Zebras", "text": "Zebras have stripes."}
_letters = random.Random(1)
RANDOM_WORDS = " ".join("".join(_letters.choices(string.ascii_lowercase, k=8)) for _ in range(28_000))


@pytest.fixture
def busy_machine(settings: Any) -> Iterator[contextlib.ExitStack]:
    """Another process of this machine holds the only slot until the stack is closed."""
    settings.RAG_MAX_DOCUMENT_EMBEDDINGS, settings.RAG_MAX_MODEL_CALLS = 1, 10
    with contextlib.ExitStack() as stack:
        slots = CrossProcessSlots(folder=settings.RAG_TEMP_FOLDER / "document-slots", count=1)
        assert stack.enter_context(slots.slot(timeout=0))
        yield stack


def test_one_organisation_fills_its_places(
    api: Api, busy_machine: contextlib.ExitStack, eventually: Callable[..., object]
) -> None:
    """Searches and another organisation's documents are answered, the surplus gets 503, and all is well afterwards."""
    home, abroad, order = api("editor"), api("foreigner"), []
    with ThreadPoolExecutor(20) as executor:

        def send(client: Client, name: str) -> Future[Reply]:
            body = {**DOCUMENT, "path": name, "text": f"Zebra {name} has stripes. " * 400}
            future = executor.submit(client.post, "/api/rag/ingest", body)
            future.add_done_callback(lambda future: order.append((name, future.result().status)))
            return future

        replies = [send(home, f"home-{number}") for number in range(12)]
        eventually(lambda: len(order) == 7, seconds=60)
        assert {status for _, status in order} == {503}  # five wait, and seven were refused
        refused = next(reply.result() for reply in replies if reply.done())
        assert int(refused.headers["retry-after"]) >= 2
        assert refused.body["error"] == "Service unavailable"
        assert "documents" in refused.body["message"]

        assert abroad.post("/api/rag/search", {"query": "Which zebra has stripes?"}).status == 200
        send(abroad, "abroad")
        eventually(lambda: DOCUMENT_LIMITER._in_progress.total() == 6, seconds=60)
        busy_machine.close()
        eventually(lambda: len(order) == 13, seconds=60)
    assert {status for _, status in order[7:]} == {200}
    # It has not waited for the five that came before. Replies of different clients can arrive in another order.
    assert [*Document.objects.order_by("created_at").values_list("path", flat=True)].index("abroad") <= 2
    assert home.post("/api/rag/ingest", DOCUMENT).body["status"] == "created"
    assert home.post("/api/rag/search", {"query": "Which zebra has stripes?"}).body["results"]
    assert Document.objects.count() == 7


def test_a_text_that_takes_too_long_is_refused_before_it_is_embedded(api: Api) -> None:
    reply = api("editor").post("/api/rag/ingest", {**DOCUMENT, "text": RANDOM_WORDS})
    assert (reply.status, reply.body["error"]) == (413, "Payload too large")
    assert "seconds" in reply.body["message"]
    assert "documents" in reply.body["message"]
    assert not DataSource.objects.exists()


def test_only_new_chunks_count(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A long document of which little changes can be sent again."""
    editor, sentences = api("editor"), [f"Zebra {number} has stripes of its own.\n\n" for number in range(200)]
    assert editor.post("/api/rag/ingest", {**DOCUMENT, "text": "".join(sentences)}).status == 200
    count = Chunk.objects.count()
    monkeypatch.setattr(synchronous_ingestion, "MAX_EMBEDDING_SECONDS", 0.2)  # 900 tokens
    updated = editor.post("/api/rag/ingest", {**DOCUMENT, "text": "".join([*sentences, "And zebra foals?"])})
    assert (updated.status, updated.body["chunkCount"]) == (200, count)
    assert editor.post("/api/rag/ingest", {**DOCUMENT, "path": "/new", "text": "".join(sentences)}).status == 413


def test_prose_of_the_largest_size_is_accepted(world: World) -> None:
    """256 KB of ordinary English; that of this project's decisions has more technical words than most."""
    pages = sorted((Path(__file__).parents[3] / "docs" / "decisions").glob("*.md"))
    text = "\n".join(line for page in pages for line in page.read_text().splitlines() if "|" not in line)
    source, submission = world.source(), Submission(path="a.txt", title="A", text=text)
    document = parse_chunk_embed.parse_and_chunk(submission, source=source, options=default_chunking_options())
    tokens = parse_chunk_embed.estimate_tokens_to_embed(document, source.embedding_model)
    seconds = (
        tokens / synchronous_ingestion._TOKENS_PER_SECOND * synchronous_ingestion.MAX_TEXT_BYTES / len(text.encode())
    )
    assert seconds < synchronous_ingestion.MAX_EMBEDDING_SECONDS
