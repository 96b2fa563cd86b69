"""Helpers of the tests of uploaded files."""

import io
import time
from pathlib import Path
from typing import Any

from django.utils import timezone

from rag.models import IngestionJob, Original
from rag.services.ingestion import build_submissions
from rag.services.jobs.submit_documents import Upload, rewind, submit_documents
from rag.services.sources import original_files
from rag.types import Submission
from tests.support import factories
from tests.support.factories import World

OPTIONS = build_submissions.default_chunking_options()


def files_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def store(source: Any, content: bytes = b"Zebras have stripes.", name: str = "../../etc/zebras.txt") -> Original:
    return store_content(source, io.BytesIO(content), name)


def store_content(source: Any, content: io.BytesIO, name: str = "a") -> Original:
    file = original_files.IncomingFile(lambda: rewind(content), name, "text/plain")
    (original,) = original_files.store_files(source=source, files=[file])
    return original


def upload(path: str, content: bytes, **about: Any) -> Upload:
    submission = Submission(path=path, title=path, text="", **about)
    return Upload(submission, lambda: io.BytesIO(content), path)


def send(world: World, source: Any, *documents: Any) -> IngestionJob:
    job = submit_documents(source=source, documents=documents, options=OPTIONS, actor=world.users["editor"])
    factories.process_documents(ids=list(job.documents.values_list("pk", flat=True)))
    return job


def purge_unused_files() -> None:
    """Purge as if every file were due for its check."""
    Original.objects.update(check_at=timezone.now())
    original_files.purge_unused(deadline=time.monotonic() + 60)
