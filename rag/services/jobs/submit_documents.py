"""Submits jobs of texts and files. The files are stored first; if the job is refused, they are removed again."""

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import IO

from django.db import transaction

from accounts.models import User
from rag.errors import ParseFailed, UnsupportedFormat
from rag.models import DataSource, IngestionJob, Original
from rag.parsing import parse
from rag.pipeline.ingestion import quota
from rag.services.sources import original_files
from rag.types import ChunkingOptions, Submission

from .create_job import create_job

# How many bytes from the beginning of a file are enough to detect its format.
_BYTES_FOR_DETECTION = 64 * 1024


@dataclass(frozen=True, slots=True)
class Upload:
    """A document that is sent as a file.

    Attributes:
        submission: Everything that is known of the document, except its content.
        open_content: Returns the content, positioned at its beginning, each time that it is called.
        name: The client's name of the file.
    """

    submission: Submission
    open_content: Callable[[], AbstractContextManager[IO[bytes]]]
    name: str


def build_upload(
    path: str, *, open_content: Callable[[], AbstractContextManager[IO[bytes]]], content_type: str = ""
) -> Upload:
    """Return the upload of a file of which only the path is known. The last part of the path is its name."""
    name = path.rstrip("/").rsplit("/", 1)[-1]
    return Upload(Submission(path=path, title="", text="", content_type=content_type), open_content, name)


def rewind(file: IO[bytes]) -> AbstractContextManager[IO[bytes]]:
    """Return the open file at its beginning, as `open_content` must; its owner closes it."""
    file.seek(0)
    return nullcontext(file)


def submit_documents(
    *, source: DataSource, documents: Sequence[Submission | Upload], options: ChunkingOptions, actor: User
) -> IngestionJob:
    """Store the files, and submit a job of texts and files. If it raises, no file is left.

    An empty file becomes a failed document of the job. So does one of an unsupported format, unless it is the only
    document.

    Args:
        source: A source that was found among those that the actor may send documents to.
        documents: Texts and files, in the order in which the job lists them.
        options: How the documents are split into chunks.
        actor: The user who sends them.

    Returns:
        The job.

    Raises:
        UnsupportedFormat: If the only document is a file of a format that no parser reads.
        DocumentTooLarge: If a file has more than RAG_MAX_FILE_BYTES bytes.
        StorageFailed: If the storage does not answer.
        IndexFull: If the organisation's quota has no room.
        UnknownSource: If the source was deleted in the meantime.
    """
    quota.check_not_full(source.organization_id)
    documents = [_replace_if_unreadable(document, source, is_only=len(documents) == 1) for document in documents]
    files = [
        original_files.IncomingFile(document.open_content, document.name, document.submission.content_type)
        for document in documents
        if isinstance(document, Upload)
    ]
    stored = original_files.store_files(source=source, files=files)
    try:
        submissions = _build_submissions(documents, stored)
        with transaction.atomic():
            transaction.on_commit(stored.clear)  # they belong to the job now, whatever is raised after the commit
            original_files.add_to_job(source, stored)  # first, because their bytes count towards the quota
            job = create_job(source=source, submissions=submissions, options=options, actor=actor)
    except BaseException:
        original_files.discard(stored)
        raise
    return job


def _replace_if_unreadable(document: Submission | Upload, source: DataSource, *, is_only: bool) -> Submission | Upload:
    """Return the document, or a submission with a `parse_error` in place of a file that is empty or has no parser."""
    if isinstance(document, Submission):
        return document
    with document.open_content() as file:
        head = file.read(_BYTES_FOR_DETECTION)
    if len(head) < _BYTES_FOR_DETECTION and not head.strip():
        return dataclasses.replace(
            document.submission, parse_error="The file is empty.", parse_error_code=ParseFailed.code
        )
    try:
        content_type = document.submission.content_type
        parse.detect_type(head, content_type=content_type, name=document.name, ocr=source.has_ocr)
    except UnsupportedFormat as error:
        if is_only:
            raise
        return dataclasses.replace(document.submission, parse_error=error.message, parse_error_code=error.code)
    return document


def _build_submissions(documents: Sequence[Submission | Upload], stored: Sequence[Original]) -> list[Submission]:
    """Return all documents as submissions.

    Args:
        documents: Texts and files.
        stored: The stored files, in the order of the uploads among the documents.
    """
    remaining = iter(stored)
    return [
        document if isinstance(document, Submission) else _refer_to(next(remaining), document.submission)
        for document in documents
    ]


def _refer_to(original: Original, submission: Submission) -> Submission:
    content_hash = submission.content_hash or original.sha256
    return dataclasses.replace(submission, text="", original_id=original.pk, content_hash=content_hash)
