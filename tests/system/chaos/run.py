"""Ingests the same documents twice, once undisturbed and once while faults are injected, and compares the results."""

import contextlib
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from django.db import connection

from accounts.models import User
from orgs.access.permissions import Visibility
from orgs.creation import create_organization
from rag.models import DataSource, EmbeddingModel, IngestionDocument, IngestionJob
from rag.services.ingestion import build_submissions
from rag.services.jobs.create_job import create_job
from rag.types import Submission

from . import snapshots
from .documents import DocumentHistory, submission_rounds
from .embedding_endpoint import Endpoint
from .installation import Site
from .snapshots import Observation, StoredDocument, Verdict

State, Status = IngestionDocument.State, IngestionJob.Status


@dataclass
class Report:
    """The injected faults and their effect on the stored documents."""

    faults: Counter[str] = field(default_factory=Counter)
    verdict: Verdict = field(default_factory=Verdict)
    snapshots: int = 0
    mixed_versions: set[str] = field(default_factory=set)
    unfinished: int = 0
    seconds: float = 0

    @property
    def is_good(self) -> bool:
        return self.verdict.is_good and not self.mixed_versions and not self.unfinished

    def add(self, other: "Report") -> None:
        self.faults += other.faults
        total, added = self.verdict, other.verdict
        self.verdict = Verdict(
            total.documents + added.documents,
            total.lost + added.lost,
            total.doubled + added.doubled,
            total.different + added.different,
            total.surplus_rows + added.surplus_rows,
        )
        self.snapshots += other.snapshots
        self.mixed_versions |= other.mixed_versions
        self.unfinished += other.unfinished
        self.seconds += other.seconds


class Run:
    """Two data sources of one organisation: faults are injected while `disturbed` is filled."""

    def __init__(self, site: Site, endpoint: Endpoint, name: str) -> None:
        self.site, self.endpoint = site, endpoint
        self.report = Report()
        self._user = User.objects.create_user(f"{name}@chaos.example", None)
        organization = create_organization(name=name, slug=name)
        model, _ = EmbeddingModel.objects.get_or_create(
            name="chaos", defaults={"provider": "openai", "dimensions": 384, "base_url": endpoint.base_url}
        )
        self.undisturbed, self.disturbed = (
            DataSource.objects.create(
                organization=organization,
                slug=slug,
                name=slug,
                visibility=Visibility.PUBLIC,
                owner=self._user,
                embedding_model=model,
            )
            for slug in ("undisturbed", "disturbed")
        )

    def submit(self, submissions: Sequence[Submission], *, source: DataSource | None = None) -> IngestionJob:
        return create_job(
            source=source or self.disturbed,
            submissions=submissions,
            options=build_submissions.default_chunking_options(),
            actor=self._user,
        )

    def wait_for(self, *jobs: IngestionJob, seconds: float = 120) -> bool:
        """Wait until the jobs are finished; return whether every document of them is done."""
        ids = [job.pk for job in jobs]
        deadline = time.monotonic() + seconds
        while IngestionJob.objects.filter(pk__in=ids, finished_at=None).exists():
            if time.monotonic() > deadline:
                return False
            self.keep_worker_running()
            time.sleep(0.1)
        documents = IngestionDocument.objects.filter(job__in=ids)
        closed = IngestionJob.objects.filter(pk__in=ids, status=Status.COMPLETED).count() == len(ids)
        return closed and not documents.exclude(state=State.DONE).exists()

    def keep_worker_running(self) -> None:
        """Restart the worker and the scheduler if one of them has ended, as systemd does."""
        if not self.site.worker_and_scheduler_run():
            self.site.start_worker_and_scheduler()

    @contextlib.contextmanager
    def compared_with_undisturbed(self, documents: Sequence[DocumentHistory]) -> Iterator[None]:
        """Compare both sources after the block, which sends the documents to `disturbed` and injects faults."""
        started_at = time.monotonic()
        versions = self._undisturbed(documents)
        print(f"{len(documents)} documents undisturbed: {time.monotonic() - started_at:.0f} s", flush=True)
        self._ingest([document.before for document in documents if document.before], self.disturbed)

        def allowed(path: str, image: StoredDocument | None) -> bool:
            return image in versions[path]

        with snapshots.observer(self.disturbed.pk, allowed) as observation:
            yield
            self._finish()
        self._judge(observation)
        self.report.seconds = time.monotonic() - started_at

    def _undisturbed(self, documents: Sequence[DocumentHistory]) -> dict[str, list[StoredDocument]]:
        """Ingest all versions without faults; return every stored version of every document."""
        stored: dict[str, list[StoredDocument]] = {document.path: [] for document in documents}
        for submissions in [
            [document.before for document in documents if document.before],
            *submission_rounds(documents),
        ]:
            self._ingest(submissions, self.undisturbed)
            with snapshots.connect() as database:
                for path, (image,) in snapshots.stored_documents(database, self.undisturbed.pk).items():
                    stored[path].append(image)
        return stored

    def _ingest(self, submissions: Sequence[Submission], source: DataSource) -> None:
        if not submissions:
            return
        self.keep_worker_running()
        job = self.submit(submissions, source=source)
        assert self.wait_for(job), "the undisturbed run did not finish"

    def _finish(self) -> None:
        """Stop injecting faults and give the product time to recover."""
        self.endpoint.release()
        open_jobs = list(IngestionJob.objects.filter(source=self.disturbed))
        if not self.wait_for(*open_jobs):
            documents = IngestionDocument.objects.filter(job__source=self.disturbed)
            self.report.unfinished = documents.exclude(state=State.DONE).count() or 1

    def _judge(self, observation: Observation) -> None:
        with snapshots.connect() as database:
            stored, expected = (
                snapshots.stored_documents(database, source.pk) for source in (self.disturbed, self.undisturbed)
            )
            sizes = [snapshots.rows(database, source.pk) for source in (self.disturbed, self.undisturbed)]
        surplus_rows = sum(max(0, count - expected_count) for count, expected_count in zip(*sizes, strict=True))
        self.report.verdict = snapshots.compare(stored, expected, surplus_rows)
        self.report.snapshots, self.report.mixed_versions = observation.snapshots, set(observation.mixed_versions)

    def count_fault(self, fault: str) -> None:
        self.report.faults[fault] += 1
        connection.close()  # PostgreSQL may have been restarted
