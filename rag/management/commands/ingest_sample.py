"""manage.py ingest_sample: send a folder of files to the running product, through its API."""

import http.client
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from ragsite.http.bodies.json_types import JsonObject

DATASETS = settings.BASE_DIR.parent / "shared" / "datasets"
TYPES = {".md": "text/markdown", ".txt": "text/plain", ".rst": "text/plain", ".csv": "text/csv", ".py": "text/plain"}
MAX_DOCUMENTS_PER_JOB = 500
_POLL_SECONDS = 0.3


class Command(BaseCommand):
    help = "Send a folder of text files to the running product and show the progress of the job."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", nargs="?", type=Path, help="default: the evaluation data, else the documentation")
        parser.add_argument(
            "--source", default="sample", help="slug of the data source, which is created if it does not exist"
        )
        parser.add_argument("--address", default=f"127.0.0.1:{os.environ.get('PORT') or 3080}")
        parser.add_argument("--email", default="editor@acme.example")
        parser.add_argument("--password", default=settings.RAG_DEMO_PASSWORD)

    def handle(self, *args: Any, **options: Any) -> None:
        folder = options["folder"] or (DATASETS if DATASETS.exists() else settings.BASE_DIR / "docs")
        documents = list(_read_documents(folder))
        if not documents:
            raise CommandError(f"{folder} has no file that can be read ({', '.join(TYPES)}, corpus.jsonl).")
        self.stdout.write(f"{len(documents)} documents from {folder}")
        client = _Client(options["address"])
        client.sign_in(options["email"], options["password"])
        # The first document is sent with the v3 contract, which creates the source; the others are sent in jobs.
        client.post("/api/rag/ingest", {"source": options["source"], **_to_v3(documents[0])})
        errors = _ingest_in_jobs(client, options["source"], documents[1:])
        for error in errors[:10]:
            self.stderr.write(f"{error['path']}: {error['code']} {error['message']}")
        self.stdout.write(f"{len(documents) - len(errors)} of {len(documents)} can be searched now.")


def _ingest_in_jobs(client: "_Client", source: str, documents: list[dict[str, object]]) -> list[dict[str, object]]:
    """Send the documents in jobs, one after the other, and return the errors of the documents that failed."""
    columns = (TextColumn("ingesting"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[chunks]} chunks"))
    errors: list[dict[str, object]] = []
    ended_documents = stored_chunks = 0
    with Progress(*columns, TimeElapsedColumn(), console=Console(stderr=True)) as progress:
        bar = progress.add_task("", total=len(documents), chunks=0)
        for start in range(0, len(documents), MAX_DOCUMENTS_PER_JOB):
            body = {"dataSourceId": source, "documents": documents[start : start + MAX_DOCUMENTS_PER_JOB]}
            for job in _poll_job(client, client.post("/api/rag/ingest", body)):
                ended_in_job = job["progress"]["done"] + job["progress"]["failed"]
                progress.update(bar, completed=ended_documents + ended_in_job, chunks=stored_chunks + job["chunks"])
            ended_documents += job["progress"]["documents"]
            stored_chunks += job["chunks"]
            errors += job["errors"]
    return errors


def _poll_job(client: "_Client", job: JsonObject) -> Iterator[JsonObject]:
    """Yield the job and its later states. The last one is finished."""
    yield job
    while not job["finishedAt"]:
        time.sleep(_POLL_SECONDS)
        job = client.get(f"/api/rag/ingest/{job['jobId']}")
        yield job


def _read_documents(folder: Path) -> Iterator[dict[str, object]]:
    """Yield a document for each text file, and for each record of a corpus.jsonl file."""
    for file in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = str(file.relative_to(folder))
        if file.name == "corpus.jsonl":
            for line in file.read_text(encoding="utf-8").splitlines():
                record = json.loads(line)
                if record["text"].strip():
                    title = record.get("title") or record["id"]
                    yield {"path": f"{name}#{record['id']}", "title": title, "text": record["text"]}
        elif file.suffix.lower() in TYPES:
            text = file.read_text(encoding="utf-8", errors="replace")
            if text.strip():
                yield {"path": name, "title": file.stem, "text": text, "contentType": TYPES[file.suffix.lower()]}


def _to_v3(document: dict[str, object]) -> dict[str, object]:
    return {name: document[name] for name in ("path", "title", "text")}


class _Client:
    def __init__(self, address: str) -> None:
        self._address = address
        self._headers = {"Content-Type": "application/json"}

    def sign_in(self, email: str, password: str) -> None:
        pair = self.post("/api/auth/token", {"email": email, "password": password})
        self._headers["Authorization"] = f"Bearer {pair['access']}"

    def post(self, path: str, body: Mapping[str, object]) -> JsonObject:
        return self._send("POST", path, json.dumps(body))

    def get(self, path: str) -> JsonObject:
        return self._send("GET", path, None)

    def _send(self, method: str, path: str, body: str | None) -> JsonObject:
        connection = http.client.HTTPConnection(self._address, timeout=120)
        try:
            connection.request(method, path, body, self._headers)
            response = connection.getresponse()
            content: JsonObject = json.loads(response.read())
        except OSError:
            raise CommandError(
                f"Nothing answers at {self._address}. Start the product with `make run`. If it uses another port, "
                "set it here as well: PORT=… make ingest-sample"
            ) from None
        finally:
            connection.close()
        if response.status >= 400:
            raise CommandError(f"{method} {path}: {response.status} {content['message']}")
        return content
