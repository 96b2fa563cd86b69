"""manage.py ingest: files and folders of this machine into a data source, through the services."""

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
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from accounts.models import User
from orgs.access.caller import Caller
from rag.errors import RagError
from rag.models import DataSource, Document, IngestionDocument, IngestionJob
from rag.models.content.documents import MAX_PATH_BYTES
from rag.services.ingestion import inputs
from rag.services.jobs import reparsing, uploads
from rag.services.sources import lookup

# Files of one job.
BATCH = 100
SHOWN = 20
State = IngestionDocument.State


class Command(BaseCommand):
    help = "Send files, or folders with all that is in them, to a data source, and watch until they can be searched."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="files and folders")
        parser.add_argument("--source", required=True, help="slug of the data source")
        parser.add_argument("--organization", default="", help="slug, where several have a source of this slug")
        parser.add_argument("--user", default="", help="e-mail address of who sends them; default: the source's owner")
        parser.add_argument("--glob", action="append", default=[], help="only files like this, as '*.md'; repeatable")
        parser.add_argument("--again", action="store_true", help="parse what the source has already again")

    def handle(self, *args: Any, **options: Any) -> None:
        if bool(options["paths"]) == options["again"]:
            raise CommandError("Name files or folders, or --again for what the source has already.")
        source = _source(options["source"], options["organization"])
        actor = _actor(options["user"], source)
        try:
            source = lookup.get_source_to_ingest(Caller(actor), str(source.pk))
        except RagError as error:
            raise CommandError(f"{actor.email} may not send documents to {source}: {error.message}") from None
        run = _Run(source, actor)
        try:
            if options["again"]:
                run.parse_again()
            else:
                run.send(list(_files(options["paths"], options["glob"])))
        except KeyboardInterrupt:
            self.stderr.write(run.farewell())
            raise SystemExit(130) from None
        for path, reason in run.failures[:SHOWN]:
            self.stderr.write(f"{path}: {reason}")
        if run.failures:
            raise CommandError(f"{len(run.failures)} of {run.total} documents failed; the others can be searched.")
        self.stdout.write(f"{run.total} documents of {source} can be searched now.")


class _Run:
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
            while batch := list(islice(waiting, BATCH)):
                self._submit(batch)
                self._progress.advance(sent, len(batch))
                self._look(indexed)
            self._follow(indexed)

    def parse_again(self) -> None:
        try:
            self._jobs = reparsing.reparse_documents(Caller(self._actor), Document.objects.filter(source=self._source))
        except RagError as error:
            raise CommandError(error.message) from None
        self.total = IngestionDocument.objects.filter(job__in=self._jobs).count()
        with self._progress:
            self._follow(self._progress.add_task("parsed again", total=self.total))

    def farewell(self) -> str:
        open_jobs = IngestionJob.objects.filter(pk__in=[job.pk for job in self._jobs], finished_at=None)
        ids = [str(pk) for pk in open_jobs.values_list("pk", flat=True)]
        if not ids:
            return "Stopped. Nothing of it is under way."
        return (
            f"Stopped watching: what was sent goes on, as {len(ids)} jobs. Cancel them in the admin under Ingestion "
            f"jobs, or by DELETE /api/rag/ingest/…: {', '.join(ids[:SHOWN])}"
        )

    def _submit(self, batch: list[tuple[str, Path]]) -> None:
        documents = []
        for path, file in batch:
            if reason := _refusal(path, file):
                self.failures.append((path, reason))
            else:
                documents.append(uploads.build_upload(path, open_content=partial(_opened, file)))
        if not documents:
            return
        options = inputs.default_chunking_options()
        try:
            job = uploads.submit_documents(source=self._source, documents=documents, options=options, actor=self._actor)
        except (RagError, OSError) as error:
            reason = f"{error.code} {error.message}" if isinstance(error, RagError) else str(error)
            self.failures += [(document.submission.path, reason) for document in documents]
        else:
            self._jobs.append(job)

    def _follow(self, bar: Any) -> None:
        while not self._look(bar):
            time.sleep(0.3)
        failed = IngestionDocument.objects.filter(job__in=self._jobs, state__in=[State.FAILED, State.CANCELLED])
        for path, code, message, state in failed.values_list("path", "error_code", "error_message", "state"):
            self.failures.append((path, f"{code} {message}" if code else state))

    def _look(self, bar: Any) -> bool:
        """Whether all of it has ended."""
        documents = IngestionDocument.objects.filter(job__in=self._jobs)
        self._progress.update(bar, completed=documents.filter(state=State.DONE).count())
        return not documents.filter(state__in=[State.QUEUED, State.RUNNING]).exists()


def _source(slug: str, organization: str) -> DataSource:
    found = DataSource.objects.filter(slug=slug, deleted_at=None).select_related("organization", "owner")
    if organization:
        found = found.filter(organization__slug=organization)
    if found.count() > 1:
        names = ", ".join(source.organization.slug for source in found)
        raise CommandError(f"Several organisations have a source {slug}: choose by --organization ({names}).")
    source = found.first()
    if source is None:
        raise CommandError(f"There is no data source {slug}. Make it in the admin first.")
    return source


def _actor(email: str, source: DataSource) -> User:
    user = User.objects.filter(email__iexact=email).first() if email else source.owner
    if user is None:
        raise CommandError(f"There is no user {email}." if email else "The source has no owner: name a --user.")
    return user


def _files(paths: list[Path], patterns: list[str]) -> Iterator[tuple[str, Path]]:
    """(path of the document, file), in order. A document's path is the file's, from the folder that was named."""
    seen: dict[str, Path] = {}
    for path in paths:
        if not path.exists():
            raise CommandError(f"There is no {path}.")
        for name, file in [(path.name, path)] if path.is_file() else _inside(path):
            if patterns and not any(fnmatch(each, pattern) for pattern in patterns for each in (name, file.name)):
                continue
            if name in seen:
                raise CommandError(f"{seen[name]} and {file} would have the same path, {name}: send them apart.")
            seen[name] = file
            yield name, file


def _inside(folder: Path) -> Iterator[tuple[str, Path]]:
    """Nothing hidden, and no link that leads out of the folder."""
    root = folder.resolve()
    for here, folders, names in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith("."))
        for name in sorted(names):
            file = Path(here, name)
            if not name.startswith(".") and file.resolve().is_relative_to(root) and file.is_file():
                yield file.relative_to(root).as_posix(), file


def _opened(file: Path) -> IO[bytes]:
    return file.open("rb")


def _refusal(path: str, file: Path) -> str:
    try:
        size = file.stat().st_size
        printable = len(path.encode()) <= MAX_PATH_BYTES
    except (OSError, UnicodeEncodeError) as error:
        return str(error)
    if not printable:
        return f"its path has more than {MAX_PATH_BYTES:,} bytes"
    if size > settings.RAG_MAX_FILE_BYTES:
        return f"has more than {settings.RAG_MAX_FILE_BYTES:,} bytes (RAG_MAX_FILE_BYTES)"
    return "" if size else "is empty"
