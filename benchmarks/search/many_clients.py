"""Searches of many clients at once.

python -m ragsite.embedded var/load --throwaway python -m benchmarks.search.many_clients

First, one process per core embeds questions and sends the SQL of both searches, and nothing else. Then 16 clients
search over HTTP. At last 1,000 send a request each at the same moment, with 50 accounts and addresses. BENCH_CHUNKS and
BENCH_SECONDS change the number of chunks and the time of each measurement. Clients and server share the machine. The
figures are also in many_clients.json in the data folder.
"""

import http.client
import itertools
import json
import multiprocessing
import os
import statistics
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks.support.set_up import migrate, set_up_django

_SECONDS = float(os.environ.get("BENCH_SECONDS", "20"))
_CHUNKS = int(os.environ.get("BENCH_CHUNKS", "20000"))
_CLIENTS, _AT_ONCE, _ACCOUNTS = 16, 1_000, 50


def main() -> None:
    set_up_django()
    from benchmarks.search import synthetic_organizations
    from benchmarks.support import corpus

    migrate()
    library = synthetic_organizations.Library(_CHUNKS)
    library.open_reader(5)
    synthetic_organizations.build_index()
    users = library.members(5, _ACCOUNTS)
    questions = corpus.questions(limit=1_000)
    print(f"{_CHUNKS:,} chunks, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}", flush=True)
    bare = _bare_rate(questions)
    folder = Path(os.environ["RAGSITE_DATA"])
    figures = _measure_http(users, questions, bare, folder)
    (folder / "many_clients.json").write_text(json.dumps({"bare": bare, "clients": _CLIENTS, **figures}, indent=1))


def _bare_rate(questions: Sequence[str]) -> float:
    """Return how many questions per second all cores embed and search with SQL alone."""
    cores = os.cpu_count() or 2
    # Started anew: a fork would share the connection to PostgreSQL and the threads of the model.
    with ProcessPoolExecutor(cores, multiprocessing.get_context("spawn")) as pool:
        rate = sum(pool.map(_search_alone, [questions[core::cores] for core in range(cores)]))
    print(f"embedding and SQL alone, {cores} processes: {rate:.1f}/s", flush=True)
    return rate


def _search_alone(questions: Sequence[str]) -> float:
    set_up_django()
    from rag.models import DataSource, EmbeddingModel
    from rag.pipeline.embed_question import embed_question
    from rag.pipeline.retrieval.find_candidates import MAX_CANDIDATES
    from rag.providers import provider_factory
    from rag.providers.stores.search_types import ScopeQuery
    from rag.types import Mode, SearchScope

    model = EmbeddingModel.objects.default()
    sources = DataSource.objects.filter(organization__slug=f"open-5-{_CHUNKS}").values_list("pk", flat=True)
    scope = SearchScope(tuple(sources), model.pk)
    store = provider_factory.chunk_store()

    def search(question: str) -> None:
        vector = embed_question(question, model=model)
        store.search(question, [ScopeQuery(scope, vector)], mode=Mode.DENSE, limit=MAX_CANDIDATES)
        store.search(question, [ScopeQuery(scope, None)], mode=Mode.LEXICAL, limit=MAX_CANDIDATES)

    for question in questions[:10]:
        search(question)
    started = time.perf_counter()
    for count, question in enumerate(itertools.cycle(questions), start=1):
        search(question)
        if (elapsed := time.perf_counter() - started) > _SECONDS:
            return count / elapsed
    raise AssertionError  # the questions never end


def _measure_http(users: Sequence[Any], questions: Sequence[str], bare: float, folder: Path) -> dict[str, Any]:
    from benchmarks.support.api_client import ApiClient
    from benchmarks.support.server import Server, free_port

    paths = {}
    with Server(folder, free_port(), worker=False) as server:
        tokens = [ApiClient(server.address).signed_in(user.email, user.email).token for user in users]
        for path in ("/api/rag/search", "/api/rag/retrieve"):
            _run_clients(server.address, path, tokens, questions, 3.0)  # warms the server up
            times, statuses = _run_clients(server.address, path, tokens, questions, _SECONDS)
            cuts = statistics.quantiles(times, n=100)
            rate = len(times) / _SECONDS
            paths[path] = {"rate": rate, "p50": cuts[49], "p99": cuts[98], "statuses": dict(statuses)}
            print(
                f"{path:18} {_CLIENTS} clients: {rate:.1f}/s ({rate / bare:.2f} of the bare rate), "
                f"p50 {cuts[49]:.0f} ms, p99 {cuts[98]:.0f} ms ({cuts[98] / cuts[49]:.1f} times p50), "
                f"statuses {dict(statuses)}",
                flush=True,
            )
        times, statuses = _send_at_once(server.address, "/api/rag/search", tokens, questions)
        print(
            f"{_AT_ONCE} at once: statuses {dict(statuses)}, p50 {statistics.median(times):.0f} ms, "
            f"last {max(times):.0f} ms",
            flush=True,
        )
        return {"paths": paths, "at_once": {"statuses": dict(statuses), "last": max(times)}}


def _run_clients(
    address: str, path: str, tokens: Sequence[str], questions: Sequence[str], seconds: float
) -> tuple[list[float], Counter[str]]:
    times: list[float] = []
    statuses: Counter[str] = Counter()
    end = time.perf_counter() + seconds

    def ask(number: int) -> None:
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120)
        for question in itertools.cycle(questions[number * 37 :]):
            started = time.perf_counter()
            if started > end:
                return
            statuses[_post(connection, path, tokens[number % len(tokens)], question)] += 1
            times.append(1000 * (time.perf_counter() - started))

    _run_threads(ask, _CLIENTS)
    return times, statuses


def _send_at_once(
    address: str, path: str, tokens: Sequence[str], questions: Sequence[str]
) -> tuple[list[float], Counter[str]]:
    times: list[float] = []
    statuses: Counter[str] = Counter()
    together = threading.Barrier(_AT_ONCE)

    def ask(number: int) -> None:
        source = (f"127.0.0.{2 + number % _ACCOUNTS}", 0)  # the server limits the requests of an address
        connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=120, source_address=source)
        together.wait()
        started = time.perf_counter()
        question, token = questions[number % len(questions)], tokens[number % len(tokens)]
        statuses[_post(connection, path, token, question)] += 1
        times.append(1000 * (time.perf_counter() - started))

    _run_threads(ask, _AT_ONCE)
    return times, statuses


def _run_threads(work: Any, count: int) -> None:
    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _post(connection: http.client.HTTPConnection, path: str, token: str, question: str) -> str:
    """Send a search; return its status, and whether the response says when to try again."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    try:
        connection.request("POST", path, json.dumps({"query": question, "topK": 10}), headers)
        response = connection.getresponse()
        response.read()
    except OSError as error:
        connection.close()
        return type(error).__name__
    return f"{response.status}{' with Retry-After' if response.getheader('Retry-After') else ''}"


if __name__ == "__main__":
    main()
