"""python -m benchmarks.ingestion.memory: memory of workers that ingest a text of 200 MB and 10,000 documents.

The endpoint that is 50 ms away embeds them, so that it takes minutes and not hours. MEMORY_MB and MEMORY_DOCUMENTS set
other sizes.
"""

import contextlib
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from benchmarks.support import embedding_endpoint
from benchmarks.support.server import Server, free_port
from benchmarks.support.set_up import set_up_django

DIMENSIONS = 384


def main() -> None:
    set_up_django()
    from benchmarks.support import corpus
    from benchmarks.support.api_client import ApiClient
    from rag.models import EmbeddingModel
    from rag.types import Submission

    megabytes, count = (int(os.environ.get(name, default)) for name, default in _SIZES)
    texts = [document["text"] for document in corpus.documents(limit=300)]
    with (
        Server(Path(os.environ["RAGSITE_DATA"]), free_port()) as server,
        ApiClient(server.address) as api,
        embedding_endpoint.running(DIMENSIONS) as base_url,
    ):
        model, _ = EmbeddingModel.objects.update_or_create(
            name="bench-memory", defaults={"provider": "openai", "dimensions": DIMENSIONS, "base_url": base_url}
        )
        source = api.new_source("memory", model=model)
        _measure(api, source, [Submission(path="warm", title="", text="Warm.")], "idle workers")
        many = [Submission(path=f"d{n}", title="", text=f"{n}. {texts[n % len(texts)]}") for n in range(count)]
        _measure(api, source, many, f"{count:,} documents")
        with tempfile.TemporaryFile() as file:
            number = 0
            while file.tell() < megabytes * 1_000_000:
                file.write(f"{number}. {texts[number % len(texts)]}\n\n".encode())
                number += 1
            file.seek(0)
            _measure(api, source, [file], f"a text of {megabytes} MB")
        api.delete_model(model)


_SIZES = (("MEMORY_MB", "200"), ("MEMORY_DOCUMENTS", "10000"))


def _measure(api: Any, source: Any, documents: list[Any], label: str) -> None:
    from rag.services.ingestion import build_submissions
    from rag.services.jobs.create_job import create_job
    from rag.services.jobs.submit_documents import Upload, rewind, submit_documents
    from rag.types import Submission

    with _peaks() as peaks:
        started = time.perf_counter()
        options = build_submissions.default_chunking_options()
        if isinstance(documents[0], Submission):
            job = create_job(source=source, submissions=documents, options=options, actor=api.user)
        else:
            submission = Submission(path="long.txt", title="", text="", content_type="text/plain")
            upload = Upload(submission, lambda: rewind(documents[0]), "long.txt")
            job = submit_documents(source=source, documents=[upload], options=options, actor=api.user)
        while True:
            state = api.get(f"/api/rag/ingest/{job.pk}")
            if state["finishedAt"]:
                break
            time.sleep(0.5)
        seconds = time.perf_counter() - started
    if state["errors"]:
        raise RuntimeError(state["errors"][:3])
    largest = max(peaks.values(), default=0)
    print(
        f"{label:20} {seconds:6.1f} s {state['chunks']:8,} chunks {state['chunks'] / seconds:7.0f} chunks/s   "
        f"largest process {largest / 1e6:5.0f} MB",
        flush=True,
    )


@contextlib.contextmanager
def _peaks() -> Iterator[dict[int, int]]:
    """The peak resident memory, in bytes, of each Celery and parser process during the block, by process id."""
    peaks: dict[int, int] = {}
    finished = threading.Event()

    def sample() -> None:
        while not finished.wait(0.1):
            for process in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    command = " ".join(process.cmdline())
                    if "celery" in command or "rag.parsing" in command:
                        peaks[process.pid] = max(peaks.get(process.pid, 0), process.memory_info().rss)

    thread = threading.Thread(target=sample)
    thread.start()
    try:
        yield peaks
    finally:
        finished.set()
        thread.join()


if __name__ == "__main__":
    main()
