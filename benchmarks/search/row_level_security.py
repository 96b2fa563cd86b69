"""Cost of row-level security: python -m ragsite.embedded var/sources -- python -m benchmarks.search.row_level_security

Every question is asked in turn with and without the policies and checks of the database: within one process, as the
caller and as a worker; and over HTTP, of two servers, one of them without row-level security. Only ratios of one run
can be compared. BENCH_CHUNKS changes the number of chunks, BENCH_QUESTIONS that of questions.
"""

import contextlib
import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.support.set_up import migrate, set_up_django
from ragsite.postgres import identity

_WARM_UP = 20
_WITHOUT_RLS = "benchmarks.support.settings_without_rls"


def main() -> None:
    set_up_django()
    from benchmarks.search import synthetic_organizations
    from benchmarks.support import corpus

    migrate()
    library = synthetic_organizations.Library(int(os.environ.get("BENCH_CHUNKS", "20000")))
    reader = library.open_reader(5)
    synthetic_organizations.build_index()
    questions = corpus.questions(limit=_WARM_UP + int(os.environ.get("BENCH_QUESTIONS", "200")))
    for rerank in (False, True):
        _report(f"in process{', reranked' if rerank else ''}", *_in_process(reader, questions, rerank=rerank))
    for path in ("/api/rag/search", "/api/rag/retrieve"):
        _report(f"HTTP {path}", *_over_http(reader, questions, path, Path(os.environ["RAGSITE_DATA"])))


def _in_process(reader: Any, questions: Sequence[str], *, rerank: bool) -> tuple[list[float], list[float]]:
    from orgs.access.caller import Caller
    from rag.services.queries import permitted_queries
    from rag.services.queries.source_selection import SourceSelection
    from rag.types import Question

    caller = Caller(reader.user)

    def ask(question: str, current: identity.Identity) -> None:
        with identity.run_as(current):
            selection = SourceSelection(caller)
            permitted_queries.search(Question(question, 10, rerank=rerank), selection)

    return _in_turn(
        questions,
        lambda question: ask(question, caller.database_identity),
        lambda question: ask(question, identity.WORKER),
    )


def _over_http(reader: Any, questions: Sequence[str], path: str, folder: Path) -> tuple[list[float], list[float]]:
    from benchmarks.support.api_client import ApiClient
    from benchmarks.support.server import Server, free_port

    with contextlib.ExitStack() as stack:
        clients = []
        for settings in ("", _WITHOUT_RLS):
            data_folder = folder / (settings or "protected")
            data_folder.mkdir(exist_ok=True)
            server = stack.enter_context(Server(data_folder, free_port(), worker=False, settings=settings))
            clients.append(ApiClient(server.address).signed_in(reader.user.email, reader.user.email))
        protected, without = clients
        return _in_turn(
            questions,
            lambda question: protected.post(path, {"query": question, "topK": 10}),
            lambda question: without.post(path, {"query": question, "topK": 10}),
        )


def _in_turn(
    questions: Sequence[str], protected: Callable[[str], object], without: Callable[[str], object]
) -> tuple[list[float], list[float]]:
    """Return the times of both in milliseconds. Which of them is first changes with every question."""
    times: tuple[list[float], list[float]] = ([], [])
    for number, question in enumerate(questions):
        for place in (0, 1) if number % 2 else (1, 0):
            started = time.perf_counter()
            (protected, without)[place](question)
            if number >= _WARM_UP:
                times[place].append(1000 * (time.perf_counter() - started))
    return times


def _report(label: str, protected: list[float], without: list[float]) -> None:
    with_p50, without_p50 = statistics.median(protected), statistics.median(without)
    pairs = statistics.median(one / other for one, other in zip(protected, without, strict=True))
    print(
        f"{label:28} p50 {without_p50:5.1f} ms without, {with_p50:5.1f} with row-level security, "
        f"ratio {with_p50 / without_p50:.3f}, median of the ratios of pairs {pairs:.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
