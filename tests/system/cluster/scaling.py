"""How ingestion grows with workers: the embedding endpoint sleeps, so that the cores of this machine do not matter."""

import time

from django.db import connection

from accounts.models import User
from orgs.access.permissions import Visibility
from orgs.creation import create_organization
from rag.models import DataSource, EmbeddingModel, IngestionDocument, IngestionJob
from rag.services.ingestion import build_submissions
from rag.services.jobs import submit as job_submit
from ragsite.run import commands
from tests.system.chaos.documents import DocumentGenerator
from tests.system.chaos.endpoint import Endpoint

from .installation import WORKER_HOSTS, Installation
from .verdict import Speed, efficiencies, table

_USER = "scaling@cluster.example"
_MAX_WORKERS = 8
# A job is divided into 16 messages, here of 8 documents of one chunk, which a worker claims and embeds with one call.
# The call takes much longer than the work of the processor for them, so that two cores carry eight workers.
_CALL_SECONDS, _DOCUMENTS_PER_CALL, _CALLS_PER_JOB = 1.2, 8, 16
_MIN_EFFICIENCY = 0.9
_MAX_SECONDS = 120


def run_scaling(installation: Installation, endpoint: Endpoint) -> bool:
    """Measure 1 to 8 workers on two hosts, print the figures, and return whether the speed grows as it should."""
    for host in WORKER_HOSTS:
        installation.stop(f"{host}/worker")
    endpoint.latency = _CALL_SECONDS
    organization = create_organization(name="scaling", slug="scaling")
    model = EmbeddingModel.objects.create(name="scaling", provider="openai", dimensions=384, base_url=endpoint.base_url)
    User.objects.create_user(_USER, None)
    endpoint.answered_batch_sizes.clear()
    speeds = []
    for workers in range(1, _MAX_WORKERS + 1):
        source = DataSource.objects.create(
            organization=organization,
            slug=f"workers-{workers}",
            name=f"workers-{workers}",
            visibility=Visibility.PUBLIC,
            embedding_model=model,
        )
        names = _start_workers(installation, workers)
        speeds.append(_measure(installation, source, workers))
        for name in names:
            installation.stop(name)
        calls = endpoint.answered_batch_sizes[:]
        endpoint.answered_batch_sizes.clear()
        print(f"{workers} workers: {speeds[-1].per_second:.1f} documents/s, {len(calls)} calls", flush=True)
    shares = efficiencies(speeds)
    rows = [
        (speed.workers, speed.documents, speed.seconds, speed.per_second, f"{shares[speed.workers]:.2f}")
        for speed in speeds
    ]
    print(table(("workers", "documents", "seconds", "documents/s", "share of n times one worker"), rows))
    return all(value >= _MIN_EFFICIENCY for value in shares.values())


def _start_workers(installation: Installation, number: int) -> list[str]:
    """Start this many worker processes, half of them on each host."""
    shares = {WORKER_HOSTS[0]: (number + 1) // 2, WORKER_HOSTS[1]: number // 2}
    names = []
    for host, share in shares.items():
        if share:
            command = commands.worker()
            command[command.index("--concurrency") + 1] = str(share)
            names.append(f"{host}/worker")
            installation.start(names[-1], command)
    return names


def _measure(installation: Installation, source: DataSource, workers: int) -> Speed:
    """Ingest a job for each worker, so that each of them makes the same number of calls."""
    generator, options = DocumentGenerator(workers), build_submissions.default_chunking_options()
    user = User.objects.get(email=_USER)
    for job in range(workers):
        paths = [f"{job}/{number}.md" for number in range(_DOCUMENTS_PER_CALL * _CALLS_PER_JOB)]
        submissions = [generator.submission(path, generator.prose(20)) for path in paths]
        job_submit.submit_job(source=source, submissions=submissions, options=options, actor=user)
    begin, open_jobs = time.monotonic(), IngestionJob.objects.filter(source=source, finished_at=None)
    while open_jobs.exists() and time.monotonic() < begin + _MAX_SECONDS:
        time.sleep(0.05)
    seconds = time.monotonic() - begin
    done = IngestionDocument.objects.filter(job__source=source, state=IngestionDocument.State.DONE).count()
    connection.close()
    return Speed(workers, done, seconds)
