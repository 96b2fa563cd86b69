"""Steady traffic of several people over all endpoints; every answer is judged, every write is in the ledger."""

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

from .judge import Kind, Verdict, broken, judged
from .ledger import Ledger

# Seconds after which an answer counts as hanging: a model call with its repetitions takes up to 13 here.
PATIENCE = 25
_BOUNDARY = "----abuse"


@dataclass(frozen=True, slots=True)
class Call:
    """done: is given the body of a success."""

    operation: str
    method: str
    path: str
    body: Any = None
    done: Callable[[Any], None] | None = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Answer:
    """begun: of time.monotonic(). status 0: none came."""

    operation: str
    status: int
    verdict: Verdict
    begun: float
    seconds: float

    @property
    def ended(self) -> float:
        return self.begun + self.seconds


@dataclass(frozen=True, slots=True)
class Person:
    """headers: how they sign in. sources: the slugs that they send to, of the local and of the remote model."""

    name: str
    headers: dict[str, str]
    sources: tuple[str, str]


class Traffic:
    """Runs while it is entered, a thread for each person, one request at a time. pause: seconds between two."""

    def __init__(self, port: int, people: list[Person], ledger: Ledger, *, pause: float = 0.05) -> None:
        self._port, self._people, self._ledger, self._pause = port, people, ledger, pause
        self._finished = threading.Event()
        self._threads: list[threading.Thread] = []
        self.answers: list[Answer] = []

    def __enter__(self) -> "Traffic":
        for number, person in enumerate(self._people):
            thread = threading.Thread(target=self._live, args=(person, number), daemon=True)
            thread.start()
            self._threads.append(thread)
        return self

    def __exit__(self, *_: object) -> None:
        self._finished.set()
        for thread in self._threads:
            thread.join(PATIENCE + 5)

    def since(self, begun: float) -> list[Answer]:
        return [answer for answer in list(self.answers) if answer.begun >= begun]

    def all_succeed_since(self, begun: float) -> bool:
        """Whether every operation has succeeded in a request that began after this moment."""
        good = {answer.operation for answer in self.since(begun) if answer.verdict.kind is Kind.SUCCESS}
        return operations(self.answers) <= good

    def all_asked_since(self, begun: float) -> bool:
        return operations(self.answers) <= operations(self.since(begun))

    def _live(self, person: Person, number: int) -> None:
        days = day(person, self._ledger)
        for call in itertools.islice(days, number * 3, None):  # not everybody at the same thing
            if self._finished.is_set():
                return
            self.answers.append(self._asked(person, call))
            time.sleep(self._pause)

    def _asked(self, person: Person, call: Call) -> Answer:
        begun, status = time.monotonic(), 0
        try:
            status, headers, content = asked(self._port, call, person.headers)
            verdict = judged(call.method, call.path, status, headers, content)
        except TimeoutError:
            verdict = broken("no answer in time")
        except (OSError, http.client.HTTPException) as error:
            verdict = broken(f"connection torn: {type(error).__name__}")
        answer = Answer(call.operation, status, verdict, begun, time.monotonic() - begun)
        if verdict.kind is Kind.SUCCESS and call.done:
            call.done(json.loads(content or b"null"))
        return answer


def asked(port: int, call: Call, headers: dict[str, str]) -> tuple[int, dict[str, str], bytes]:
    """One request on a connection of its own; its time limit is for the whole of it."""
    deadline = time.monotonic() + PATIENCE
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
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


def day(person: Person, ledger: Ledger) -> Iterator[Call]:
    """What somebody does all day: everything that the API has, again and again."""
    for number in itertools.count():
        yield from _reading(person, number)
        yield from _writing(person, number, ledger)
        yield from _sources(person, number, ledger)


def _reading(person: Person, number: int) -> Iterator[Call]:
    local, remote = person.sources
    # Never the same one twice: vectors of questions are kept.
    asked = f"where does {person.name} hang the spare keys of the yard on day {number}"
    question = [{"role": "user", "content": asked}]
    queries: list[str] = []
    for operation, path, body in (
        ("search", "/api/rag/search", {"query": asked, "filters": {"source": local}}),
        ("search, remote model", "/api/rag/search", {"query": asked, "filters": {"source": remote}}),
        ("search, retrieval's", "/api/rag/search", {"query_text": asked}),
        ("retrieve", "/api/rag/retrieve", {"query": asked, "dataSources": [local]}),
        ("query", "/api/rag/query", {"query": asked, "dataSources": [local]}),
        ("query, stream", "/api/rag/query", {"query": asked, "dataSources": [local], "stream": True}),
        ("answer", "/api/rag/answer", {"query_text": asked}),
        ("answer, stream", "/functions/v1/rag-answer", {"query_text": asked, "stream": True}),
        ("chat", "/api/chat", {"messages": question, "useRag": True, "ragFilters": {"source": local}}),
        ("chat, stream", "/api/chat", {"messages": question, "stream": True}),
        ("agent", "/agent/respond", {"query": asked}),
    ):
        yield Call(operation, "POST", path, body)
    yield Call(
        "service search", "POST", "/api/v1/search", {"query": asked}, lambda body: queries.append(body["query_id"])
    )
    for query in queries:
        yield Call("search details", "GET", f"/api/v1/search/{query}")
    yield Call("sources", "GET", "/api/rag/sources")
    yield Call("documents", "GET", f"/api/rag/sources/{local}/documents")
    yield Call("jobs", "GET", "/api/rag/ingest")
    yield Call("health", "GET", "/healthz")


def _writing(person: Person, number: int, ledger: Ledger) -> Iterator[Call]:
    jobs: list[str] = []
    for slug, model in zip(person.sources, ("local", "remote"), strict=True):
        path, text = f"{person.name}/now-{number}.md", f"The spare keys number {number} of {person.name} hang here."
        ledger.sends(f"{slug}/{path}", text)
        yield Call(
            f"ingest, {model} model", "POST", "/api/rag/ingest",
            {"source": slug, "path": path, "title": path, "text": text},
            lambda _, name=f"{slug}/{path}": ledger.acknowledged(name),  # type: ignore[misc]
        )  # fmt: skip
        texts = {f"{person.name}/job-{number}-{index}.md": f"Bike {number} {index}: in the yard." for index in range(3)}
        names = [f"{slug}/{path}" for path in texts]
        for name, text in zip(names, texts.values(), strict=True):
            ledger.sends(name, text)

        def taken(body: Any, names: list[str] = names) -> None:
            jobs.append(body["jobId"])
            ledger.acknowledged(*names)

        documents = [{"path": path, "text": text} for path, text in texts.items()]
        body = {"dataSourceId": slug, "documents": documents}
        yield Call(f"job, {model} model", "POST", "/api/rag/ingest", body, taken)
    for job in jobs[:1]:
        yield Call("job's progress", "GET", f"/api/rag/ingest/{job}")
        yield Call("job's documents", "GET", f"/api/rag/ingest/{job}/documents")
    slug, path = person.sources[0], f"{person.name}-file-{number}.txt"
    text = f"A file number {number} of {person.name}."
    ledger.sends(f"{slug}/{path}", text)
    yield Call(
        "upload", "POST", "/api/rag/ingest", form({"dataSourceId": slug}, {path: text.encode()}),
        lambda _: ledger.acknowledged(f"{slug}/{path}"), FORM,
    )  # fmt: skip


def _sources(person: Person, number: int, ledger: Ledger) -> Iterator[Call]:
    slug, made = f"{person.name}-{number}", []

    def note(body: Any) -> None:
        made.append(slug)
        ledger.acknowledged(f"source {slug}")

    ledger.changes(slug, "first")
    yield Call("make a source", "POST", "/api/rag/sources", {"name": "first", "slug": slug}, note)
    if made:
        ledger.changes(slug, "second")
        yield Call("change a source", "PATCH", f"/api/rag/sources/{slug}", {"name": "second"}, note)
        yield Call("a source", "GET", f"/api/rag/sources/{slug}")
    if made and number % 2:
        ledger.changes(slug, None)
        yield Call("delete a source", "DELETE", f"/api/rag/sources/{quote(slug)}", None, note)


FORM = {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"}


def form(fields: dict[str, str], files: dict[str, bytes]) -> bytes:
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}'.encode() for name, value in fields.items()]
    for name, content in files.items():
        head = f'Content-Disposition: form-data; name="files"; filename="{name}"\r\nContent-Type: text/plain\r\n\r\n'
        parts.append(head.encode() + content)
    delimiter = f"--{_BOUNDARY}".encode()
    return b"".join(delimiter + b"\r\n" + part + b"\r\n" for part in parts) + delimiter + b"--\r\n"


def counted(answers: list[Answer]) -> Counter[Kind]:
    return Counter(answer.verdict.kind for answer in answers)
