"""What read replicas take off the primary.

python -m ragsite.embedded var/replicas -- python -m benchmarks.search.replicas

Searchers of a web process ask the same questions without and with two streaming replicas of the same machine. The work
of each server is measured: seconds of a core of its processes, and the transactions and rows that it reports. Other
programs on the machine change the times, but not the shares. BENCH_CHUNKS changes the number of chunks, BENCH_QUESTIONS
that of questions, BENCH_SEARCHERS that of searchers.
"""

import os
import shutil
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import psycopg

from benchmarks.support.set_up import migrate, set_up_django
from ragsite.postgres import identity

_WARM_UP = 20
_STATISTICS = "SELECT xact_commit, tup_returned + tup_fetched FROM pg_stat_database WHERE datname = %s"
# The processes of a server report what they have read when they end, or after this time at most.
_REPORT_SECONDS = 2


@dataclass(frozen=True)
class _Work:
    """What a server has done since it started."""

    cpu_seconds: float
    transactions: int
    rows: int

    def since(self, earlier: "_Work") -> "_Work":
        return _Work(
            self.cpu_seconds - earlier.cpu_seconds, self.transactions - earlier.transactions, self.rows - earlier.rows
        )


def main() -> None:
    set_up_django()
    from django.conf import settings

    from benchmarks.search import synthetic_organizations
    from benchmarks.support import corpus
    from ragsite.postgres import role_connections
    from tests.support.servers import replicas

    migrate()
    reader = synthetic_organizations.Library(int(os.environ.get("BENCH_CHUNKS", "20000"))).open_reader(5)
    questions = corpus.questions(limit=_WARM_UP + int(os.environ.get("BENCH_QUESTIONS", "300")))
    started = replicas.create(2)
    try:
        sockets = [_primary_folder(), *(str(replica.folder) for replica in started)]
        role_connections.close_all()
        identity.run_process_as(identity.ANONYMOUS)
        for addresses in ([], [replica.address for replica in started]):
            settings.RAG_DATABASE_REPLICAS = addresses
            for rerank in (False, True):
                _ask(reader.user, questions[:_WARM_UP], rerank=rerank)
                before = [_work(folder) for folder in sockets]
                seconds, on_replica = _ask(reader.user, questions[_WARM_UP:], rerank=rerank)
                works = [_work(folder).since(work) for folder, work in zip(sockets, before, strict=True)]
                label = f"{len(addresses)} replicas, {'reranked' if rerank else 'not reranked'}"
                _report(label, works, len(questions) - _WARM_UP, seconds, on_replica)
    finally:
        for replica in started:
            replica.stop()
            shutil.rmtree(replica.folder)


def _ask(user: Any, questions: Sequence[str], *, rerank: bool) -> tuple[float, int]:
    """Search for each question, and return the seconds of all and how many searches replicas have executed."""
    from orgs.access.caller import Caller
    from rag.services.queries import permitted_queries
    from rag.services.queries.source_selection import SourceSelection
    from rag.types import Question
    from ragsite.observability import measurement_buffer
    from ragsite.postgres import role_connections

    caller = Caller(user)

    def search(part: Sequence[str]) -> None:
        with identity.run_as(caller.database_identity):
            for question in part:
                selection = SourceSelection(caller)
                permitted_queries.search(Question(question, 10, rerank=rerank), selection)
        role_connections.close_all()

    searchers = int(os.environ.get("BENCH_SEARCHERS", "4"))
    measurement_buffer.take()
    begin = time.monotonic()
    with ThreadPoolExecutor(searchers) as executor:
        list(executor.map(search, [questions[number::searchers] for number in range(searchers)]))
    seconds, totals = time.monotonic() - begin, measurement_buffer.take().totals
    return seconds, sum(total.count for key, total in totals.items() if key.name == "search_on_replica")


def _primary_folder() -> str:
    from django.db import connection

    return str(connection.get_connection_params()["host"])


def _work(folder: str) -> _Work:
    """Return what the server with its sockets in this folder has done."""
    time.sleep(_REPORT_SECONDS)
    with psycopg.connect(host=folder, user="postgres", dbname="postgres", autocommit=True) as session:
        (data,) = session.execute("SHOW data_directory").fetchone() or ("",)
        row = session.execute(_STATISTICS, ["ragsite"]).fetchone() or (0, 0)
    server = psutil.Process(int((Path(data) / "postmaster.pid").read_text().split("\n")[0]))
    # The last two times of a process are those of its children that have ended.
    cpu_seconds = sum(sum(process.cpu_times()[:4]) for process in (server, *server.children()))
    return _Work(cpu_seconds, int(row[0]), int(row[1]))


def _report(label: str, works: Sequence[_Work], searches: int, seconds: float, on_replica: int) -> None:
    total = sum(work.cpu_seconds for work in works)
    print(f"{label}: {searches} searches in {seconds:.0f} s, {on_replica} on replicas", flush=True)
    for name, work in zip(("primary", "replica 1", "replica 2"), works, strict=True):
        print(
            f"  {name}: {1000 * work.cpu_seconds / searches:.1f} ms of a core for each search "
            f"({100 * work.cpu_seconds / total:.0f} %), {work.transactions / searches:.1f} transactions, "
            f"{work.rows / searches:.0f} rows",
            flush=True,
        )


if __name__ == "__main__":
    main()
