"""Steady traffic of several people over all endpoints. Every response is judged, every write is in the ledger."""

import contextlib
import http.client
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from .ledger import Ledger
from .verdicts import Kind, Verdict, broken, judge

# After this time a request counts as unanswered: here a model call with its retries takes up to 13 seconds.
TIMEOUT_SECONDS = 25
_BOUNDARY = "----abuse"


@dataclass(frozen=True, slots=True)
class Call:
    """A request. `on_success` receives the body of a success."""

    operation: str
    method: str
    path: str
    body: Any = None
    on_success: Callable[[Any], None] | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of a request.

    Attributes:
        operation: Name of the operation.
        status: HTTP status; 0 if no response came.
        verdict: What the response was judged to be.
        started_at: time.monotonic() when the request was sent.
        seconds: Duration of the request.
    """

    operation: str
    status: int
    verdict: Verdict
    started_at: float
    seconds: float

    @property
    def ended_at(self) -> float:
        return self.started_at + self.seconds


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who sends requests.

    Attributes:
        name: Part of the names of what this person creates.
        headers: The credential, and the organisation if it needs one.
        sources: Slugs of the sources that receive documents: of the local and of the remote model.
    """

    name: str
    headers: dict[str, str]
    sources: tuple[str, str]


class Traffic:
    """Sends requests while the context is entered: one thread for each person, one request at a time.

    `pause` is the time between two requests, in seconds.
    """

    def __init__(self, port: int, people: list[Person], ledger: Ledger, *, pause: float = 0.05) -> None:
        self._port, self._people, self._ledger, self._pause = port, people, ledger, pause
        self._finished = threading.Event()
        self._threads: list[threading.Thread] = []
        self.answers: list[Answer] = []

    def __enter__(self) -> "Traffic":
        for number, person in enumerate(self._people):
            thread = threading.Thread(target=self._send_calls, args=(person, number), daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._finished.set()
        for thread in self._threads:
            thread.join(TIMEOUT_SECONDS + 5)

    def answers_since(self, moment: float) -> list[Answer]:
        """The answers of requests that were sent at this moment or later."""
        return [answer for answer in list(self.answers) if answer.started_at >= moment]

    def has_all_succeeded_since(self, moment: float) -> bool:
        """Return whether every operation has succeeded in a request that was sent since this moment."""
        succeeded = {answer.operation for answer in self.answers_since(moment) if answer.verdict.kind is Kind.SUCCESS}
        return operations(self.answers) <= succeeded

    def has_all_answered_since(self, moment: float) -> bool:
        """Return whether every operation has an answer, of any kind, to a request that was sent since this moment."""
        return operations(self.answers) <= operations(self.answers_since(moment))

    def _send_calls(self, person: Person, number: int) -> None:
        calls = endless_calls(person, self._ledger)
        for call in itertools.islice(calls, number * 3, None):  # people start with different operations
            if self._finished.is_set():
                return
            self.answers.append(self._send(person, call))
            time.sleep(self._pause)

    def _send(self, person: Person, call: Call) -> Answer:
        started_at, status = time.monotonic(), 0
        try:
            status, headers, content = send(self._port, call, person.headers)
            verdict = judge(call.method, call.path, status, headers, content)
        except TimeoutError:
            verdict = broken("no answer in time")
        except (OSError, http.client.HTTPException) as error:
            verdict = broken(f"dropped connection: {type(error).__name__}")
        answer = Answer(call.operation, status, verdict, started_at, time.monotonic() - started_at)
        if verdict.kind is Kind.SUCCESS and call.on_success:
            call.on_success(json.loads(content or b"null"))
        return answer


def send(
    port: int, call: Call, headers: dict[str, str], *, timeout: float = TIMEOUT_SECONDS
) -> tuple[int, dict[str, str], bytes]:
    """Send one request on a connection of its own, with a time limit for the whole response.

    Returns:
        Status, headers with names in lower case, body.

    Raises:
        TimeoutError: The response was not complete in time.
    """
    deadline = time.monotonic() + timeout
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    body = call.body if isinstance(call.body, bytes | None) else json.dumps(call.body).encode()
    with contextlib.closing(connection):
        connection.request(
            call.method, call.path, body, {"Content-Type": "application/json", **headers, **call.headers}
        )
        response = connection.getresponse()
        content = b""
        while part := response.read1():
            content += part
            if time.monotonic() > deadline:
                raise TimeoutError
        return response.status, {name.lower(): value for name, value in response.getheaders()}, content


def operations(answers: list[Answer]) -> set[str]:
    return {answer.operation for answer in answers}


def endless_calls(person: Person, ledger: Ledger) -> Iterator[Call]:
    """Every operation of the API, in rounds without end."""
    for number in itertools.count():
        yield from _reading_calls(person, number)
        yield from _writing_calls(person, number, ledger)
        yield from _source_calls(person, number, ledger)


def _reading_calls(person: Person, number: int) -> Iterator[Call]:
    local, remote = person.sources
    # A different question in each round: the vectors of questions are cached.
    question = f"where does {person.name} hang the spare keys of the yard on day {number}"
    messages = [{"role": "user", "content": question}]
    query_ids: list[str] = []
    for operation, path, body in (
        ("search", "/api/rag/search", {"query": question, "filters": {"source": local}}),
        ("search, remote model", "/api/rag/search", {"query": question, "filters": {"source": remote}}),
        ("search, retrieval contract", "/api/rag/search", {"query_text": question}),
        ("retrieve", "/api/rag/retrieve", {"query": question, "dataSources": [local]}),
        ("query", "/api/rag/query", {"query": question, "dataSources": [local]}),
        ("query, stream", "/api/rag/query", {"query": question, "dataSources": [local], "stream": True}),
        ("answer", "/api/rag/answer", {"query_text": question}),
        ("answer, stream", "/functions/v1/rag-answer", {"query_text": question, "stream": True}),
        ("chat", "/api/chat", {"messages": messages, "useRag": True, "ragFilters": {"source": local}}),
        ("chat, stream", "/api/chat", {"messages": messages, "stream": True}),
        ("agent", "/agent/respond", {"query": question}),
    ):
        yield Call(operation, "POST", path, body)
    yield Call(
        "service search", "POST", "/api/v1/search", {"query": question}, lambda body: query_ids.append(body["query_id"])
    )
    for query_id in query_ids:
        yield Call("search details", "GET", f"/api/v1/search/{query_id}")
    yield Call("sources", "GET", "/api/rag/sources")
    yield Call("documents", "GET", f"/api/rag/sources/{local}/documents")
    yield Call("jobs", "GET", "/api/rag/ingest")
    yield Call("health", "GET", "/healthz")


def _writing_calls(person: Person, number: int, ledger: Ledger) -> Iterator[Call]:
    jobs: list[str] = []
    for slug, model in zip(person.sources, ("local", "remote"), strict=True):
        path, text = f"{person.name}/now-{number}.md", f"The spare keys number {number} of {person.name} hang here."
        ledger.record_document(f"{slug}/{path}", text)
        yield Call(
            f"ingest, {model} model", "POST", "/api/rag/ingest",
            {"source": slug, "path": path, "title": path, "text": text},
            lambda _, name=f"{slug}/{path}": ledger.acknowledge(name),  # type: ignore[misc]
        )  # fmt: skip
        texts = {f"{person.name}/job-{number}-{index}.md": f"Bike {number} {index}: in the yard." for index in range(3)}
        names = [f"{slug}/{path}" for path in texts]
        for name, text in zip(names, texts.values(), strict=True):
            ledger.record_document(name, text)

        def acknowledge_job(body: Any, names: list[str] = names) -> None:
            jobs.append(body["jobId"])
            ledger.acknowledge(*names)

        documents = [{"path": path, "text": text} for path, text in texts.items()]
        body = {"dataSourceId": slug, "documents": documents}
        yield Call(f"job, {model} model", "POST", "/api/rag/ingest", body, acknowledge_job)
    for job in jobs[:1]:
        yield Call("job's progress", "GET", f"/api/rag/ingest/{job}")
        yield Call("job's documents", "GET", f"/api/rag/ingest/{job}/documents")
    slug, path = person.sources[0], f"{person.name}-file-{number}.txt"
    text = f"A file number {number} of {person.name}."
    ledger.record_document(f"{slug}/{path}", text)
    yield Call(
        "upload", "POST", "/api/rag/ingest", form({"dataSourceId": slug}, {path: text.encode()}),
        lambda _: ledger.acknowledge(f"{slug}/{path}"), FORM_HEADERS,
    )  # fmt: skip


def _source_calls(person: Person, number: int, ledger: Ledger) -> Iterator[Call]:
    slug, created = f"{person.name}-{number}", []

    def acknowledge(body: Any) -> None:
        created.append(slug)
        ledger.acknowledge(f"source {slug}")

    ledger.record_source(slug, "first")
    yield Call("create a source", "POST", "/api/rag/sources", {"name": "first", "slug": slug}, acknowledge)
    if created:
        ledger.record_source(slug, "second")
        yield Call("change a source", "PATCH", f"/api/rag/sources/{slug}", {"name": "second"}, acknowledge)
        yield Call("a source", "GET", f"/api/rag/sources/{slug}")
    if created and number % 2:
        ledger.record_source(slug, None)
        yield Call("delete a source", "DELETE", f"/api/rag/sources/{quote(slug)}", None, acknowledge)


FORM_HEADERS = {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"}


def form(fields: dict[str, str], files: dict[str, bytes]) -> bytes:
    """Encode fields and text files as multipart/form-data."""
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode() for name, value in fields.items()]
    for name, content in files.items():
        head = f'Content-Disposition: form-data; name="files"; filename="{name}"\r\nContent-Type: text/plain\r\n\r\n'
        parts.append(head.encode() + content)
    delimiter = f"--{_BOUNDARY}".encode()
    return b"".join(delimiter + b"\r\n" + part + b"\r\n" for part in parts) + delimiter + b"--\r\n"


def count_kinds(answers: list[Answer]) -> Counter[Kind]:
    return Counter(answer.verdict.kind for answer in answers)
