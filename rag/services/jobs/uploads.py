"""Documents that come as files: told apart, stored, and made a job of; or nothing of them is left."""

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import IO

from django.db import transaction

from accounts.models import User
from rag.errors import UnsupportedFormat
from rag.models import DataSource, IngestionJob, Original
from rag.parsing import registry as parsers
from rag.pipeline.ingestion import quota
from rag.types import ChunkingOptions, Submission

from . import originals
from . import submit as job_submit

# Of a file's beginning, what its format is told by.
_HEAD = 64 * 1024


@dataclass(frozen=True, slots=True)
class Upload:
    """A document that is a file. opened: a reader that stands at its beginning, each time. name: as its owner calls it.

    submission: what is known of it beside its content.
    """

    submission: Submission
    opened: Callable[[], AbstractContextManager[IO[bytes]]]
    name: str


def build_upload(
    path: str, *, opened: Callable[[], AbstractContextManager[IO[bytes]]], content_type: str = ""
) -> Upload:
    """A file of which nothing more is known than where it lies."""
    name = path.rstrip("/").rsplit("/", 1)[-1]
    return Upload(Submission(path=path, title="", text="", content_type=content_type), opened, name)


def rewind(file: IO[bytes]) -> AbstractContextManager[IO[bytes]]:
    """For `opened`, of a file that whoever opened it closes."""
    file.seek(0)
    return nullcontext(file)


def submit_documents(
    *, source: DataSource, documents: Sequence[Submission | Upload], options: ChunkingOptions, actor: User
) -> IngestionJob:
    """A job of texts and files. A file of a format that nothing reads fails by itself, unless it is the only document.

    Whoever calls has found the source among those that the actor may send to: files are stored from here on. Raises
    UnsupportedFormat, DocumentTooLarge, StorageFailed, IndexFull, and UnknownSource; then nothing is left.
    """
    quota.refuse_if_full(source.organization_id)
    documents = [_told_apart(each, alone=len(documents) == 1) for each in documents]
    files = [
        originals.IncomingFile(each.opened, each.name, each.submission.content_type)
        for each in documents
        if isinstance(each, Upload)
    ]
    kept = originals.store_files(source=source, files=files)
    try:
        submissions = _stored(documents, kept)
        with transaction.atomic():
            transaction.on_commit(kept.clear)  # whatever comes after the commit, they are the job's
            job = job_submit.submit_job(source=source, submissions=submissions, options=options, actor=actor)
            originals.mark_used(original.pk for original in kept)
    except BaseException:
        originals.discard(kept)
        raise
    return job


def _told_apart(document: Submission | Upload, *, alone: bool) -> Submission | Upload:
    """A file that nothing reads is not stored: what remains is a submission that says why."""
    if isinstance(document, Submission):
        return document
    with document.opened() as file:
        head = file.read(_HEAD)
    try:
        parsers.detect(head, content_type=document.submission.content_type, name=document.name)
    except UnsupportedFormat as error:
        if alone:
            raise
        return dataclasses.replace(document.submission, parse_error=error.message, parse_error_code=error.code)
    return document


def _stored(documents: Sequence[Submission | Upload], kept: Sequence[Original]) -> list[Submission]:
    """kept: the originals of those that are files, in their order."""
    left = iter(kept)
    return [each if isinstance(each, Submission) else _kept(each.submission, next(left)) for each in documents]


def _kept(submission: Submission, original: Original) -> Submission:
    content_hash = submission.content_hash or original.sha256
    return dataclasses.replace(submission, text="", original_id=original.pk, content_hash=content_hash)
