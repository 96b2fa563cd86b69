"""manage.py ingest: send files and folders of this machine to a data source."""

import os
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from accounts.models import User
from orgs.access.caller import Caller
from rag.errors import RagError
from rag.models import DataSource, Document, IngestionDocument, IngestionJob
from rag.models.content.documents import MAX_PATH_BYTES
from rag.services.ingestion import build_submissions
from rag.services.jobs import reparsing
from rag.services.jobs.submit_documents import build_upload, submit_documents
from rag.services.sources import lookup

MAX_FILES_PER_JOB = 100
MAX_SHOWN = 20
State = IngestionDocument.State


class Command(BaseCommand):
    help = (
        "Send files and folders to a data source, and wait until they can be searched. "
        "A worker must be running. Interrupt it at any time: the documents that were sent are processed nevertheless."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files and folders")
        parser.add_argument("--source", required=True, help="slug of the data source")
        parser.add_argument(
            "--organization", default="", help="slug of the organisation, if several have a source with this slug"
        )
        parser.add_argument("--user", default="", help="e-mail address of the sender; default: the owner of the source")
        parser.add_argument(
            "--glob", action="append", default=[], help="only files that match, such as '*.md'; can be repeated"
        )
        parser.add_argument("--reparse", action="store_true", help="parse the stored documents of the source again")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["paths"]) == options["reparse"]:
            raise CommandError("Name files or folders, or use --reparse for the documents that the source has.")
        source = _find_source(options["source"], options["organization"])
        actor = _actor(options["user"], source)
        try:
            source = lookup.get_source_to_ingest(Caller(actor), str(source.pk))
        except RagError as error:
            raise CommandError(f"{actor.email} may not send documents to {source}: {error.message}") from None
        run = _Run(source, actor)
        try:
            if options["reparse"]:
                run.reparse()
            else:
                run.send(list(_files(options["paths"], options["glob"])))
        except KeyboardInterrupt:
            self.stderr.write(run.interruption_message())
            raise SystemExit(130) from None
        for path, reason in run.failures[:MAX_SHOWN]:
            self.stderr.write(_printable(f"{path}: {reason}"))
        if run.failures:
            raise CommandError(f"{len(run.failures)} of {run.total} documents failed; the others can be searched.")
        documents = "document" if run.total == 1 else "documents"
        self.stdout.write(f"{run.total} {documents} of {source} can be searched now.")


class _Run:
    """Sends files in jobs, and follows the jobs on a progress bar."""

    def __init__(self, source: DataSource, actor: User) -> None:
        self._source, self._actor = source, actor
        self._jobs: list[IngestionJob] = []
        self.total = 0
        self.failures: list[tuple[str, str]] = []
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=Console(stderr=True))

    def send(self, files: list[tuple[str, Path]]) -> None:
        self.total = len(files)
        with self._progress:
            sent = self._progress.add_task("sent", total=self.total)
            indexed = self._progress.add_task("searchable", total=self.total)
            waiting = iter(files)
            while batch := list(islice(waiting, MAX_FILES_PER_JOB)):
                self._submit(batch)
                self._progress.advance(sent, len(batch))
                self._update_progress(indexed)
            self._wait_and_collect_failures(indexed)

    def reparse(self) -> None:
        try:
            self._jobs = reparsing.reparse_documents(Caller(self._actor), Document.objects.filter(source=self._source))
        except RagError as error:
            raise CommandError(error.message) from None
        self.total = IngestionDocument.objects.filter(job__in=self._jobs).count()
        with self._progress:
            self._wait_and_collect_failures(self._progress.add_task("reparsed", total=self.total))

    def interruption_message(self) -> str:
        """Return a message about what happens to the jobs that are still open."""
        open_jobs = IngestionJob.objects.filter(pk__in=[job.pk for job in self._jobs], finished_at=None)
        ids = [str(pk) for pk in open_jobs.values_list("pk", flat=True)]
        if not ids:
            return "Stopped. No job is open."
        return (
            f"Stopped waiting. {len(ids)} jobs are still being processed. Cancel them in the admin under Ingestion "
            f"jobs, or with DELETE /api/rag/ingest/…: {', '.join(ids[:MAX_SHOWN])}"
        )

    def _submit(self, batch: list[tuple[str, Path]]) -> None:
        """Submit one job of the files that can be sent, and record a failure for each of the others."""
        documents = []
        for path, file in batch:
            if reason := _find_problem(path, file):
                self.failures.append((path, reason))
            else:
                documents.append(build_upload(path, open_content=partial(_open_file, file)))
        if not documents:
            return
        options = build_submissions.default_chunking_options()
        try:
            job = submit_documents(source=self._source, documents=documents, options=options, actor=self._actor)
        except (RagError, OSError) as error:
            reason = f"{error.code} {error.message}" if isinstance(error, RagError) else str(error)
            self.failures += [(document.submission.path, reason) for document in documents]
        else:
            self._jobs.append(job)

    def _wait_and_collect_failures(self, bar: TaskID) -> None:
        """Wait until all documents have ended, and add those that failed or were cancelled to `failures`."""
        while not self._update_progress(bar):
            time.sleep(0.3)
        failed = IngestionDocument.objects.filter(job__in=self._jobs, state__in=[State.FAILED, State.CANCELLED])
        for path, code, message, state in failed.values_list("path", "error_code", "error_message", "state"):
            self.failures.append((path, f"{code} {message}" if code else state))

    def _update_progress(self, bar: TaskID) -> bool:
        """Update the bar, and return whether all documents have ended."""
        documents = IngestionDocument.objects.filter(job__in=self._jobs)
        self._progress.update(bar, completed=documents.filter(state=State.DONE).count())
        return not documents.filter(state__in=[State.QUEUED, State.RUNNING]).exists()


def _find_source(slug: str, organization_slug: str) -> DataSource:
    sources = DataSource.objects.filter(slug=slug, deleted_at=None).select_related("organization", "owner")
    if organization_slug:
        sources = sources.filter(organization__slug=organization_slug)
    if sources.count() > 1:
        names = ", ".join(source.organization.slug for source in sources)
        raise CommandError(f"Several organisations have a source {slug}: choose by --organization ({names}).")
    source = sources.first()
    if source is None:
        raise CommandError(f"There is no data source {slug}. Create it in the admin first.")
    return source


def _actor(email: str, source: DataSource) -> User:
    user = User.objects.filter(email__iexact=email).first() if email else source.owner
    if user is None:
        raise CommandError(f"There is no user {email}." if email else "The source has no owner: use --user.")
    return user


def _files(paths: list[Path], patterns: list[str]) -> Iterator[tuple[str, Path]]:
    """Yield (path of the document, file). The path is relative to the named folder."""
    files_by_path: dict[str, Path] = {}
    for path in paths:
        if not path.exists():
            raise CommandError(f"There is no {path}.")
        for name, file in [(path.name, path)] if path.is_file() else _walk(path):
            if patterns and not any(
                fnmatch(candidate, pattern) for pattern in patterns for candidate in (name, file.name)
            ):
                continue
            if name in files_by_path:
                both = f"{files_by_path[name]} and {file}"
                raise CommandError(f"{both} would have the same path, {name}. Send them to different sources.")
            files_by_path[name] = file
            yield name, file


def _walk(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield (relative path, file) of the folder's files, without hidden files and links that lead out of the folder."""
    root = folder.resolve()
    for parent, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            file = Path(parent, name)
            if not name.startswith(".") and file.resolve().is_relative_to(root) and file.is_file():
                yield file.relative_to(root).as_posix(), file


def _open_file(file: Path) -> IO[bytes]:
    return file.open("rb")


def _printable(text: str) -> str:
    """Return a text without characters that control the terminal: paths may come from other people."""
    return "".join(character if character.isprintable() else "\ufffd" for character in text)


def _find_problem(path: str, file: Path) -> str:
    """Return why the file cannot be sent; empty if it can."""
    try:
        size = file.stat().st_size
        is_path_valid = len(path.encode()) <= MAX_PATH_BYTES
    except (OSError, UnicodeEncodeError) as error:
        return str(error)
    if not is_path_valid:
        return f"the path has more than {MAX_PATH_BYTES:,} bytes"
    if size > settings.RAG_MAX_FILE_BYTES:
        return f"the file has more than {settings.RAG_MAX_FILE_BYTES:,} bytes (RAG_MAX_FILE_BYTES)"
    return "" if size else "the file is empty"
