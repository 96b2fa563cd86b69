"""make upgrade: upgrades a database of the oldest supported version under reads and writes; status 1 if any failed.

UPGRADE_DOCUMENTS (3,000) are ingested and searched with the old version. Then the new version migrates the database and
takes over, while clients search and send documents. Needs a complete clone, HAProxy and the package index.
"""

import json
import os
import random
import secrets
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ragsite_client import Job, NewDocument, NotAllowed, NotFound

from ragsite.embedded import services
from ragsite.embedded.folder import socket_folder
from ragsite.run import commands
from tests.system.chaos.documents import DocumentGenerator
from tests.system.chaos.embedding_endpoint import Endpoint
from tests.system.cluster.load.recorded_client import RecordedClient
from tests.system.cluster.verdict import Request, judge_requests, longest_pause

from . import contents
from .versions import OLDEST_SUPPORTED_COMMIT, ROOT, Proxy, Version, extract_old_version, install_old_packages

_SOURCE, _WRITTEN, _FRESH, _OLD = "shared", "written", "fresh", "old/"
_DOCUMENTS_PER_JOB, _QUESTIONS, _TOP_K = 200, 100, 5
_CALM_SECONDS, _PROBE_SECONDS = 5, 0.3
Results = dict[str, list[tuple[str, str]]]  # question → path and text of each passage, best first


class Rehearsal:
    """The state of one run. `requests` has every read and write."""

    def __init__(self, base_url: str, keys: dict[str, str]) -> None:
        self.reads: list[Request] = []
        self.writes: list[Request] = []
        self.answered_probes: list[float] = []
        self.leaks = self.empty_reads = 0
        self.jobs: list[str] = []
        self._base_url, self._keys = base_url, keys
        self._finished = threading.Event()

    def ingest(self, documents: list[NewDocument], source: str = _SOURCE) -> None:
        with RecordedClient([], self._base_url, self._keys["writer"]) as client:
            jobs = [
                client.ingest(source, documents[start : start + _DOCUMENTS_PER_JOB])
                for start in range(0, len(documents), _DOCUMENTS_PER_JOB)
            ]
            for job in jobs:
                self._require_completed(client.wait(job, interval_seconds=0.5))

    def search(self, questions: list[str], source: str = _SOURCE) -> Results:
        with RecordedClient([], self._base_url, self._keys["reader"]) as client:
            return {
                question: [
                    (passage.path, passage.text) for passage in client.search(question, sources=[source], top_k=_TOP_K)
                ]
                for question in questions
            }

    @contextmanager
    def traffic(self, questions: list[str]) -> Iterator[None]:
        """Search and send documents during the block."""
        threads = [threading.Thread(target=self._read, args=(name, questions)) for name in self._keys]
        threads += [threading.Thread(target=self._write), threading.Thread(target=self._probe, args=(questions[0],))]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            self._finished.set()
            for thread in threads:
                thread.join()

    def _read(self, name: str, questions: list[str]) -> None:
        with RecordedClient(self.reads, self._base_url, self._keys[name]) as client:
            while not self._finished.wait(0.1):
                question = random.choice(questions)
                try:
                    passages = client.do(
                        "search",
                        lambda: client.search(question, top_k=_TOP_K),  # noqa: B023
                        raises=(NotAllowed, NotFound),
                    )
                except (NotAllowed, NotFound):
                    passages = []
                if name == "stranger":
                    self.leaks += bool(passages)
                elif passages == []:
                    self.empty_reads += 1

    def _write(self) -> None:
        with RecordedClient(self.writes, self._base_url, self._keys["writer"]) as client:
            number = 0
            while not self._finished.wait(0.5):
                number += 1
                documents = [NewDocument(f"{number}-{n}.md", f"Written meanwhile: {number} {n}.") for n in range(3)]
                if job := client.do("ingest", lambda: client.ingest(_WRITTEN, documents)):  # noqa: B023
                    self.jobs.append(job.job_id)

    def _probe(self, question: str) -> None:
        """Search without the pauses that other clients make after a refusal, and note when that succeeds."""
        with RecordedClient([], self._base_url, self._keys["reader"]) as client:
            client._max_retries = 0
            while not self._finished.wait(_PROBE_SECONDS):
                if client.do("search", lambda: client.search(question, top_k=_TOP_K)):
                    self.answered_probes.append(time.monotonic())

    def wait_for_jobs(self) -> None:
        with RecordedClient([], self._base_url, self._keys["writer"]) as client:
            for job_id in self.jobs:
                self._require_completed(client.wait(client.get_job(job_id), interval_seconds=0.5))

    def _require_completed(self, job: Job) -> None:
        if job.status != "completed" or job.errors:
            raise RuntimeError(f"a job is {job.status}: {job.errors[:1]}")


def main(folder: Path) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    services.delete_data(folder / "services")
    shutil.rmtree(folder, ignore_errors=True)
    missing = extract_old_version(folder / "code") or ("" if shutil.which("haproxy") else "HAProxy is missing.")
    missing = missing or install_old_packages(folder / "packages")
    if missing:
        print(f"make upgrade cannot run here. {missing}", file=sys.stderr)
        return 2
    with Endpoint().running() as endpoint:
        try:
            return _run(folder, endpoint.base_url)
        finally:
            services.stop(folder / "services")


def _run(folder: Path, embeddings_url: str) -> int:
    environment = {
        **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
        **services.start(folder / "services", {}, throwaway=True),
        "SECRET_KEY": secrets.token_urlsafe(64),
        "RAG_LOCAL": "1",
        "RAG_ALLOWED_PRIVATE_HOSTS": "127.0.0.1",
        "RAG_RATE_LIMITS": "off",
        "RAG_TOKEN_SIGNATURES": "off",
        "RAG_STORAGE_FOLDER": str(folder / "files"),
        "WEB_CONCURRENCY": "1",
    }
    sockets = socket_folder(folder / "services" / "postgres")
    os.environ["UPGRADE_ADMINISTRATOR_URL"] = f"postgresql://postgres@/ragsite?host={sockets}"
    old_environment = {**environment, "PYTHONPATH": str(folder / "packages")}
    old = Version("old", folder / "code", environment=old_environment, data=folder)
    new = Version("new", ROOT, environment={**environment, "RAG_DRAIN_SECONDS": "5"}, data=folder)
    proxy = Proxy(folder, [old.port, new.port])
    try:
        return _rehearse(old, new, f"http://127.0.0.1:{proxy.port}", embeddings_url)
    finally:
        proxy.stop()
        new.stop()
        old.stop()


def _rehearse(old: Version, new: Version, base_url: str, embeddings_url: str) -> int:
    old.run("manage.py", "migrate", "--verbosity=0")
    keys = json.loads(old.run(str(Path(__file__).with_name("world.py")), embeddings_url).splitlines()[-1])
    bind = f"127.0.0.1:{old.port}"
    old.start_web([sys.executable, "-m", "gunicorn", "ragsite.wsgi", "--bind", bind, "--preload", "--threads", "16",
                   "--worker-class", "ragsite.run.gunicorn_worker.Worker", "--no-control-socket"])  # fmt: skip
    old.wait_until_ready()
    old.start_workers()
    generator, count = DocumentGenerator(1), int(os.environ.get("UPGRADE_DOCUMENTS") or 3000)
    # The old version refuses searches in 20,000 chunks: 10,000 documents have 19,000.
    documents = [
        NewDocument(f"{_OLD}{number}.md", generator.text(2 if number % 10 else 1), lang="eo", tags=("blue",))
        for number in range(count)
    ]
    questions = [" ".join(document.text.split()[3:7]) for document in documents[:_QUESTIONS]]
    rehearsal, started_at = Rehearsal(base_url, keys), time.monotonic()
    time.sleep(_CALM_SECONDS)  # until the proxy knows that the server runs
    rehearsal.ingest(documents)
    print(f"{count} documents with commit {OLDEST_SUPPORTED_COMMIT}: {time.monotonic() - started_at:.0f} s", flush=True)
    columns = contents.columns()
    stored, results = contents.read(columns, prefix=_OLD), rehearsal.search(questions)
    begin = time.monotonic()
    with rehearsal.traffic(questions):
        time.sleep(_CALM_SECONDS)
        seconds = _upgrade(old, new)
        time.sleep(2 * _CALM_SECONDS)
    end = time.monotonic()
    rehearsal.wait_for_jobs()
    broken = contents.differences(stored, contents.read(columns, prefix=_OLD))
    print(f"rows of the old documents: {len(stored)} groups compared, {len(broken)} differ", flush=True)
    new.run(str(Path(__file__).with_name("world.py")), embeddings_url, _FRESH)
    rehearsal.ingest(documents, _FRESH)
    new_results, fresh_results = rehearsal.search(questions), rehearsal.search(questions, _FRESH)
    same = sum(new_results[question] == results[question] for question in questions)
    print(f"results of {len(questions)} questions: {same} as those of the old version, passage by passage", flush=True)
    other = [question for question in questions if new_results[question] != fresh_results[question]]
    print(f"{len(questions) - len(other)} as those of the same documents in a new data source")
    broken += [f"other results than in a new data source: {question}" for question in other]
    print(f"nothing was answered for {longest_pause(rehearsal.answered_probes, begin, end):.1f} s", flush=True)
    for name, requests in (("reads", rehearsal.reads), ("writes", rehearsal.writes)):
        figures = judge_requests(requests, begin, end)
        print(
            f"{name}: {figures.requests}, retried {figures.retried}, failed {len(figures.failed)}, slowest "
            f"{figures.slowest:.1f} s, tries that failed {dict(figures.outcomes)}"
        )
        broken += figures.failed
    print(f"jobs sent meanwhile: {len(rehearsal.jobs)}, all completed; leaks: {rehearsal.leaks}")
    broken += [f"{rehearsal.empty_reads} searches found nothing"] if rehearsal.empty_reads else []
    print(", ".join(f"{step}: {duration:.1f} s" for step, duration in seconds.items()))
    broken += ["somebody saw a passage who may not"] if rehearsal.leaks else []
    for sentence in broken[:20]:
        print(f"BROKEN: {sentence}")
    return 1 if broken else 0


def _upgrade(old: Version, new: Version) -> dict[str, float]:
    """Upgrade as docs/operations/backup-and-upgrade.md says; return the seconds of each step.

    The old processes stop before the migrations: the functions of the database that they call are replaced. What can
    be done while they run is done before.
    """
    steps: dict[str, Callable[[], object]] = {
        "start the new web server": lambda: new.start_web(commands.web(host="127.0.0.1", port=new.port)),
        "prepare the migration": new.prepare_migration,
        "until the new web server waits for it": new.wait_until_migration_is_awaited,
        "stop the old workers": lambda: old.stop("worker", "scheduler"),
        "stop the old web server": old.stop,
        "migrate": new.migrate,
        "until the new web server is ready": new.wait_until_ready,
        "start the workers": new.start_workers,
    }
    seconds = {}
    for name, act in steps.items():
        begin = time.monotonic()
        act()
        seconds[name] = time.monotonic() - begin
    return seconds


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
