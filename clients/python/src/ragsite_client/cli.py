"""The command line: `ragsite login | sources | ingest FOLDER | search | ask`."""

import argparse
import getpass
import re
import sys
from collections.abc import Sequence
from pathlib import Path

try:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn
    from rich.table import Table
except ImportError:  # pragma: no cover
    sys.exit("The command line needs the extra `cli`: pip install 'ragsite-client[cli]'")

from . import credentials, uploads
from .client import Client
from .credentials import Credentials
from .errors import RagsiteError
from .models import Job

_MAX_SHOWN_ERRORS = 20
# What terminals obey and do not show: escape sequences, and changes of the direction of writing.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_console = Console()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, and return the exit status: 0, 1 for a failure, 2 for wrong arguments."""
    options = _parser().parse_args(arguments)
    try:
        if options.command == "login":
            return _login(options)
        stored = credentials.load()
        if stored is None:
            return _fail("Sign in first: ragsite login URL")
        with Client(stored.url, stored.key) as client:
            return int(options.run(client, options))
    except RagsiteError as error:
        request = f" (request {error.request_id})" if error.request_id else ""
        return _fail(f"{error.message}{request}")
    except KeyboardInterrupt:
        return _fail("Stopped.")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ragsite", description="Search, ask and send documents.")
    commands = parser.add_subparsers(dest="command", required=True)
    login = commands.add_parser("login", help="store the address and an API key")
    login.add_argument("url", help="such as https://rag.example.com")
    login.add_argument("--key-file", type=Path, help="a file with the API key; without it you are asked for the key")
    sources = commands.add_parser("sources", help="list the data sources that you may see")
    sources.set_defaults(run=_sources)
    ingest = commands.add_parser("ingest", help="send the files of a folder, and wait until they can be searched")
    ingest.add_argument("folder", type=Path)
    ingest.add_argument("--source", required=True, help="the slug of a data source")
    ingest.set_defaults(run=_ingest)
    search = commands.add_parser("search", help="show the best passages")
    search.add_argument("query")
    search.add_argument("--top", type=int, default=5)
    search.set_defaults(run=_search)
    ask = commands.add_parser("ask", help="ask a question")
    ask.add_argument("question")
    ask.set_defaults(run=_ask)
    for command in (search, ask):
        command.add_argument("--source", action="append", default=[], help="a data source; may be repeated")
    return parser


def _login(options: argparse.Namespace) -> int:
    key = options.key_file.read_text().strip() if options.key_file else getpass.getpass("API key: ")
    with Client(options.url, key) as client:
        number = sum(1 for _ in client.list_sources())
    path = credentials.save(Credentials(options.url, key))
    _console.print(f"Signed in. {number} data sources are visible. Stored in {escape(str(path))}.")
    return 0


def _sources(client: Client, _: argparse.Namespace) -> int:
    table = Table("source", "name", "organisation", "visibility")
    for source in client.list_sources():
        table.add_row(*map(_cell, (source.slug, source.name, source.organization, source.visibility)))
    _console.print(table)
    return 0


def _ingest(client: Client, options: argparse.Namespace) -> int:
    if not options.folder.is_dir():
        return _fail(f"{options.folder} is not a folder.")
    files, empty = uploads.set_empty_files_aside(uploads.find_files(options.folder))
    if empty:
        names = ", ".join(file.relative_to(options.folder).as_posix() for file in empty[:_MAX_SHOWN_ERRORS])
        more = ", …" if len(empty) > _MAX_SHOWN_ERRORS else ""
        _console.print(f"Not sent, because empty: {_plain(names)}{more}", markup=False)
    if not files:
        return _fail("The folder has no files with content.")
    with Progress(TextColumn("{task.description}"), BarColumn(), DownloadColumn(), console=_console) as progress:
        sent = progress.add_task("sending", total=sum(file.stat().st_size for file in files))
        jobs = client.upload(
            options.source, files, folder=options.folder, on_progress=lambda size: progress.advance(sent, size)
        )
    finished: list[Job] = []
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"), console=_console
    ) as progress:
        task = progress.add_task("processing", total=len(files))
        for job in jobs:
            ended = sum(earlier.progress.documents for earlier in finished)

            def show(state: Job, ended: int = ended) -> None:
                progress.update(task, completed=ended + state.progress.done + state.progress.failed)

            finished.append(client.wait(job, on_progress=show))
    return _report(finished)


def _report(jobs: Sequence[Job]) -> int:
    failures = [error for job in jobs for error in job.errors]
    done, failed = sum(job.progress.done for job in jobs), sum(job.progress.failed for job in jobs)
    _console.print(f"{done} documents can be searched, {failed} failed.")
    if failures:
        table = Table("file", "error", "reason")
        for error in failures[:_MAX_SHOWN_ERRORS]:
            table.add_row(*map(_cell, (error.path, error.code, error.message)))
        _console.print(table)
    return 1 if failed else 0


def _search(client: Client, options: argparse.Namespace) -> int:
    passages = client.search(options.query, sources=options.source, top_k=options.top)
    table = Table("score", "document", "passage", show_lines=True)
    for passage in passages:
        table.add_row(f"{passage.score:.2f}", _cell(passage.title or passage.path), _cell(passage.text))
    _console.print(table if passages else "Nothing was found.")
    return 0


def _ask(client: Client, options: argparse.Namespace) -> int:
    written, answer = "", None
    for event in client.stream(options.question, sources=options.source):
        written += event.text
        _console.print(_plain(event.text), end="", markup=False, highlight=False)
        answer = event.answer or answer
    _console.print()
    if answer is None:
        return _fail("The answer ended early.")
    if answer.answer.strip() != written.strip():
        _console.print("\nAfter the check:", style="bold")
        _console.print(_plain(answer.answer), markup=False, highlight=False)
    if answer.citations_used:
        table = Table("", "document", "quote")
        for citation in answer.citations_used:
            table.add_row(f"[{citation.number}]", _cell(citation.title or citation.path), _cell(citation.quote))
        _console.print(table)
    return 0


def _cell(text: str) -> str:
    """Return a text for a cell of a table: nothing in it is markup."""
    return escape(_plain(text))


def _plain(text: str) -> str:
    """Return a text without characters that control the terminal: whoever sends a document may write them."""
    return _CONTROLS.sub("\ufffd", text)


def _fail(message: str) -> int:
    Console(stderr=True).print(_plain(message), style="red", markup=False)
    return 1


if __name__ == "__main__":
    sys.exit(main())
