"""What token vectors cost in Qdrant, and what they save in PostgreSQL.

python -m ragsite.embedded var/qdrant -- python -m benchmarks.search.qdrant

The same reranked questions are asked with and without token vectors in Qdrant. Qdrant is its engine in the wheel
qdrant-edge-py, which the environment needs, in a process of its own behind a small HTTP server; its own time is that of
the searches without HTTP and JSON. BENCH_CHUNKS changes the number of chunks, BENCH_QUESTIONS that of questions.
"""

import multiprocessing
import os
import statistics
import time
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.support.set_up import migrate, set_up_django
from ragsite.postgres import identity

_WARM_UP, _TOKENS = 10, 80


def main() -> None:
    set_up_django()
    from django.conf import settings

    from benchmarks.search import synthetic_organizations
    from benchmarks.support import corpus
    from rag.providers import provider_factory
    from rag.services.maintenance.indexes import move_vectors

    migrate()
    count = int(os.environ.get("BENCH_CHUNKS", "5000"))
    reader = synthetic_organizations.Library(count, tokens=_TOKENS).open_reader(5)
    questions = corpus.questions(limit=_WARM_UP + int(os.environ.get("BENCH_QUESTIONS", "100")))
    _report_tokens(questions)
    for with_tokens in (False, True):
        client, remote = multiprocessing.get_context("spawn").Pipe()
        server = multiprocessing.get_context("spawn").Process(target=_serve, args=(remote,), daemon=True)
        server.start()
        settings.QDRANT_URL, settings.QDRANT_TOKEN_VECTORS = client.recv(), with_tokens
        begin = time.monotonic()
        move_vectors.copy_to_qdrant(lambda documents: None)
        seconds = time.monotonic() - begin
        client.send("optimize")
        kilobytes = client.recv() / count / 1000
        settings.VECTOR_STORE = "qdrant"
        _ask(reader.user, questions[:_WARM_UP])
        client.send("times")
        client.recv()
        times = _ask(reader.user, questions[_WARM_UP:])
        client.send("times")
        engine = client.recv()
        label = "with" if with_tokens else "without"
        print(
            f"{label} token vectors: {kilobytes:.1f} KB for each chunk, copied in {seconds:.0f} s; a search takes "
            f"{1000 * statistics.median(times):.0f} ms, with {len(engine) / len(times):.2f} requests to Qdrant, in "
            f"which it works {1000 * statistics.median(engine):.1f} ms",
            flush=True,
        )
        settings.VECTOR_STORE = "pgvector"
        provider_factory.qdrant_store().switch_recording(on=False)
        server.terminate()
        server.join()


def _report_tokens(questions: Sequence[str]) -> None:
    from rag.pipeline.embed_question import embed_question_locally

    counts = [len(embed_question_locally(question)[1]) for question in questions]
    print(
        f"{len(counts)} questions of {statistics.median(counts):.0f} tokens (median), at most {max(counts)}", flush=True
    )


def _ask(user: Any, questions: Sequence[str]) -> list[float]:
    """Search for each question, and return the seconds of each."""
    from orgs.access.caller import Caller
    from rag.services.queries import permitted_queries
    from rag.services.queries.source_selection import SourceSelection
    from rag.types import Question

    caller, times = Caller(user), []
    with identity.run_as(caller.database_identity):
        for question in questions:
            begin = time.monotonic()
            selection = SourceSelection(caller)
            permitted_queries.search(Question(question, 10, rerank=True), selection)
            times.append(time.monotonic() - begin)
    return times


def _serve(pipe: Connection) -> None:
    """Serve Qdrant's engine, and answer the benchmark's own requests."""
    from tests.support.servers.qdrant_edge_server import QdrantEdgeServer

    times: list[float] = []

    class Server(QdrantEdgeServer):
        def _run(self, operation: str, name: str, body: dict[str, Any]) -> Any:
            begin = time.monotonic()
            result = super()._run(operation, name, body)
            if operation == "POST /points/query/batch":
                times.append(time.monotonic() - begin)
            return result

    server = Server()
    with server.running():
        pipe.send(server.url)
        while True:
            if pipe.recv() == "optimize":
                pipe.send(sum(_optimize(folder, shard) for folder, shard in server.shards()))
            else:
                pipe.send(times.copy())
                times.clear()


def _optimize(folder: Path, shard: Any) -> int:
    """Build the indexes of a shard, and return its bytes."""
    shard.optimize()
    shard.flush()
    segments = [path for path in (folder / "segments").rglob("*") if path.is_file()]
    return sum(path.stat().st_blocks * 512 for path in segments)


if __name__ == "__main__":
    main()
