"""A run: the documents in an undisturbed source, the same ones in another while faults happen, and the comparison."""

import contextlib
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from django.db import connection

from accounts.models import User
from orgs.access.permissions import Visibility
from orgs.services import create_organization
from rag.models import DataSource, EmbeddingModel, IngestionDocument, IngestionJob
from rag.services.ingestion import inputs
from rag.services.jobs import submit as job_submit
from rag.types import Submission

from . import images
from .endpoint import Endpoint
from .images import Image, Reading, Verdict
from .library import Book, waves
from .site import Site

State, Status = IngestionDocument.State, IngestionJob.Status


@dataclass
class Report:
    """What was done to the product and what became of it."""

    faults: Counter[str] = field(default_factory=Counter)
    verdict: Verdict = field(default_factory=Verdict)
    snapshots: int = 0
    mixtures: set[str] = field(default_factory=set)
    unfinished: int = 0
    seconds: float = 0

    @property
    def good(self) -> bool:
        return self.verdict.good and not self.mixtures and not self.unfinished

    def add(self, other: "Report") -> None:
        self.faults += other.faults
        own, more = self.verdict, other.verdict
        self.verdict = Verdict(
            own.documents + more.documents,
            own.lost + more.lost,
            own.doubled + more.doubled,
            own.different + more.different,
            own.spare + more.spare,
        )
        self.snapshots += other.snapshots
        self.mixtures |= other.mixtures
        self.unfinished += other.unfinished
        self.seconds += other.seconds


class Run:
    """Two sources of one organisation; `disturbed` is where faults are injected, by whoever is given this run."""

    def __init__(self, site: Site, endpoint: Endpoint, name: str) -> None:
        self.site, self.endpoint = site, endpoint
        self.report = Report()
        self._user = User.objects.create_user(f"{name}@chaos.example", None)
        organization = create_organization(name=name, slug=name)
        model, _ = EmbeddingModel.objects.get_or_create(
            name="chaos", defaults={"provider": "openai", "dimensions": 384, "base_url": endpoint.base_url}
        )
        self.calm, self.disturbed = (
            DataSource.objects.create(
                organization=organization,
                slug=slug,
                name=slug,
                visibility=Visibility.PUBLIC,
                owner=self._user,
                embedding_model=model,
            )
            for slug in ("calm", "disturbed")
        )

    def submit(self, submissions: Sequence[Submission], *, source: DataSource | None = None) -> IngestionJob:
        return job_submit.submit_job(
            source=source or self.disturbed,
            submissions=submissions,
            options=inputs.default_chunking_options(),
            actor=self._user,
        )

    def wait_for(self, *wanted: IngestionJob, seconds: float = 120) -> bool:
        """Until the jobs are finished and every document of them is done."""
        ids = [job.pk for job in wanted]
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
        """What systemd does."""
        if not self.site.worker_runs():
            self.site.start_worker()

    @contextlib.contextmanager
    def judged(self, books: Sequence[Book]) -> Iterator[None]:
        """The block injects faults while it sends the books to the disturbed source; then the sources are compared."""
        begun = time.monotonic()
        versions = self._undisturbed(books)
        print(f"{len(books)} documents undisturbed: {time.monotonic() - begun:.0f} s", flush=True)
        self._ingest([book.before for book in books if book.before], self.disturbed)

        def allowed(path: str, image: Image | None) -> bool:
            return image in versions[path]

        with images.reader(self.disturbed.pk, allowed) as reading:
            yield
            self._finish()
        self._judge(reading)
        self.report.seconds = time.monotonic() - begun

    def _undisturbed(self, books: Sequence[Book]) -> dict[str, list[Image]]:
        """Every version of every document as it is stored when nothing happens."""
        found: dict[str, list[Image]] = {book.path: [] for book in books}
        for submissions in [[book.before for book in books if book.before], *waves(books)]:
            self._ingest(submissions, self.calm)
            with images.connect() as database:
                for path, (image,) in images.images(database, self.calm.pk).items():
                    found[path].append(image)
        return found

    def _ingest(self, submissions: Sequence[Submission], source: DataSource) -> None:
        if not submissions:
            return
        self.keep_worker_running()
        job = self.submit(submissions, source=source)
        assert self.wait_for(job), "the undisturbed run did not end"

    def _finish(self) -> None:
        """The faults are over; the product has its time to recover."""
        self.endpoint.release()
        open_jobs = list(IngestionJob.objects.filter(source=self.disturbed))
        if not self.wait_for(*open_jobs):
            documents = IngestionDocument.objects.filter(job__source=self.disturbed)
            self.report.unfinished = documents.exclude(state=State.DONE).count() or 1

    def _judge(self, reading: Reading) -> None:
        with images.connect() as database:
            found, expected = (images.images(database, source.pk) for source in (self.disturbed, self.calm))
            sizes = [images.rows(database, source.pk) for source in (self.disturbed, self.calm)]
        spare = sum(max(0, own - wanted) for own, wanted in zip(*sizes, strict=True))
        self.report.verdict = images.compare(found, expected, spare)
        self.report.snapshots, self.report.mixtures = reading.snapshots, set(reading.mixtures)

    def struck(self, fault: str) -> None:
        self.report.faults[fault] += 1
        connection.close()  # the server may be another one now
