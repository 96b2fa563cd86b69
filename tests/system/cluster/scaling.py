"""How ingestion grows with workers: the embedding endpoint sleeps, so that the cores of this machine do not matter."""

import os
import time
from dataclasses import dataclass

from django.db import connection
from django.db.models import Sum

from accounts.models import User
from orgs.access.permissions import Visibility
from orgs.creation import create_organization
from rag.models import DataSource, EmbeddingModel, IngestionDocument, IngestionJob, WorkerHeartbeat
from rag.services.ingestion import build_submissions
from rag.services.jobs.create_job import create_job
from ragsite.run import commands
from tests.system.chaos.documents import DocumentGenerator
from tests.system.chaos.embedding_endpoint import Endpoint

from .hosts.installation import WORKER_HOSTS, Installation
from .usage import Usage, measured_usage
from .verdict import Speed, efficiencies, table

_USER = "scaling@cluster.example"
_WORKERS = "1,2,3,4,5,6,7,8"
# The embedding endpoint needs so long for each text that a worker and PostgreSQL use less than a tenth of this time for
# their own work, and the cores of this machine carry eight workers: what is measured is whether workers wait for each
# other. However many documents a worker claims at once, its calls take as long together.
_SECONDS_PER_TEXT, _DOCUMENTS_PER_JOB = 0.08, 128
_MIN_EFFICIENCY, _MAX_CPU_SHARE = 0.9, 0.1
_MAX_SECONDS = 180


@dataclass(frozen=True, slots=True)
class _Run:
    speed: Speed
    usage: Usage

    @property
    def cpu_share(self) -> float:
        """The share of a worker's time in which it or PostgreSQL computed for it."""
        return self.usage.ingestion_cpu_seconds / self.speed.workers / self.usage.seconds


def run_scaling(installation: Installation, endpoint: Endpoint) -> bool:
    """Measure 1 to 8 workers on two hosts, print the figures, and return whether the speed grows as it should."""
    for host in WORKER_HOSTS:
        installation.stop(f"{host}/worker")
    organization = create_organization(name="scaling", slug="scaling")
    model = EmbeddingModel.objects.create(name="scaling", provider="openai", dimensions=384, base_url=endpoint.base_url)
    User.objects.create_user(_USER, None)
    runs = []
    for workers in map(int, (os.environ.get("CLUSTER_WORKERS") or _WORKERS).split(",")):
        slug = f"workers-{workers}"
        source = DataSource.objects.create(
            organization=organization, slug=slug, name=slug, visibility=Visibility.PUBLIC, embedding_model=model
        )
        names = _start_workers(installation, workers)
        endpoint.latency, endpoint.seconds_per_text = 0.1, 0
        _ingest(source, workers, prefix="first")  # each process imports and connects when it gets its first documents
        endpoint.latency, endpoint.seconds_per_text = 0, _SECONDS_PER_TEXT
        runs.append(_measure(source, workers))
        for name in names:
            installation.stop(name)
        print(f"{workers} workers: {runs[-1].speed.per_second:.1f} documents/s", flush=True)
    return _judge(runs)


def _judge(runs: list[_Run]) -> bool:
    shares = efficiencies([run.speed for run in runs])
    header = ("workers", "documents", "seconds", "documents/s", "share of n times one worker", "cores busy, %",
              "CPU of a worker, % of its time", "CPU of worker, ms a document", "CPU of PostgreSQL, ms a document",
              "waits for locks, s")  # fmt: skip
    rows = [
        (
            run.speed.workers,
            run.speed.documents,
            run.speed.seconds,
            run.speed.per_second,
            f"{shares[run.speed.workers]:.2f}",
            round(run.usage.busy * 100),
            100 * run.cpu_share,
            1000 * run.usage.cpu_seconds.get("worker", 0) / run.speed.documents,
            1000 * run.usage.cpu_seconds.get("postgres", 0) / run.speed.documents,
            f"{run.usage.lock_seconds:.2f}",
        )
        for run in runs
    ]
    print(f"the endpoint takes {_SECONDS_PER_TEXT} s for each text")
    print(table(header, rows))
    for run in runs:
        waits = ", ".join(f"{name} {seconds:.2f} s" for name, seconds in sorted(run.usage.waits.items()))
        others = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in sorted(run.usage.cpu_seconds.items()))
        print(f"{run.speed.workers} workers: CPU {others}; PostgreSQL waited {waits or 'for nothing'}")
    busiest = max(run.cpu_share for run in runs)
    if busiest > _MAX_CPU_SHARE:
        print(f"a worker and PostgreSQL computed for {busiest:.0%} of its time: the cores limit this, not the workers")
    return all(value >= _MIN_EFFICIENCY for value in shares.values())


def _start_workers(installation: Installation, number: int) -> list[str]:
    """Start this many worker processes, half of them on each host, and wait until they take documents."""
    shares = {WORKER_HOSTS[0]: (number + 1) // 2, WORKER_HOSTS[1]: number // 2}
    names = []
    for host, share in shares.items():
        if share:
            command = commands.worker()
            command[command.index("--concurrency") + 1] = str(share)
            names.append(f"{host}/worker")
            installation.start(names[-1], command)
    ready = WorkerHeartbeat.objects.filter(queues__contains=["ingestion"])
    installation.wait_until(lambda: ready.aggregate(slots=Sum("slots"))["slots"] == number, "A worker did not start")
    return names


def _measure(source: DataSource, workers: int) -> _Run:
    with measured_usage() as usage:
        seconds = _ingest(source, workers, prefix="measured")
    done = IngestionDocument.objects.filter(
        job__source=source, path__startswith="measured", state=IngestionDocument.State.DONE
    )
    count = done.count()
    connection.close()
    return _Run(Speed(workers, count, seconds), usage)


def _ingest(source: DataSource, workers: int, *, prefix: str) -> float:
    """Ingest a job for each worker, so that each of them has as much to do. Return the seconds."""
    generator, options = DocumentGenerator(workers), build_submissions.default_chunking_options()
    user, begin = User.objects.get(email=_USER), time.monotonic()  # workers begin with the first job
    for job in range(workers):
        paths = [f"{prefix}/{job}/{number}.md" for number in range(_DOCUMENTS_PER_JOB)]
        submissions = [generator.submission(path, generator.prose(20)) for path in paths]
        create_job(source=source, submissions=submissions, options=options, actor=user)
    open_jobs = IngestionJob.objects.filter(source=source, finished_at=None)
    while open_jobs.exists() and time.monotonic() < begin + _MAX_SECONDS:
        time.sleep(0.05)
    return time.monotonic() - begin
