"""Steady traffic through the proxy with the project's own Python client, which tries refused requests again."""

import itertools
import random
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

from ragsite_client import NewDocument, NotAllowed, NotFound

from tests.system.chaos.documents import DocumentGenerator
from tests.system.cluster.verdict import Request

from .people import SOURCE, People
from .recorded_client import RecordedClient

_PAUSE_SECONDS = 0.4
_NEW_DOCUMENTS, _SECTIONS = 3, 2


@dataclass
class Observations:
    """What the clients did and saw.

    Attributes:
        requests: Every request with its tries.
        versions: Path → its texts in the order in which they were sent.
        jobs: How many submissions were acknowledged.
        leaks: Passages that somebody saw who may not, as sentences.
        successes: How often somebody found what they may find.
        missing: Finished documents that a search did not find, as sentences.
        refused_searches: Searches of those who may not query, all of which found nothing.
    """

    requests: list[Request] = field(default_factory=list)
    versions: dict[str, list[NewDocument]] = field(default_factory=dict)
    jobs: int = 0
    leaks: list[str] = field(default_factory=list)
    successes: int = 0
    missing: list[str] = field(default_factory=list)
    refused_searches: int = 0


def _word(number: int) -> str:
    """Return a word of letters that no other number has."""
    letters = ""
    while number:
        number, digit = divmod(number, 20)
        letters += "bcdfghjklmnpqrstvwxz"[digit]
    return f"quu{letters}oo"


class _Account(RecordedClient):
    """A client with what it remembers."""

    generator, number, job_id = DocumentGenerator(0), 0, ""


class Traffic:
    """Sends requests while the context is entered: one thread for each account, one request at a time."""

    def __init__(self, base_url: str, trust: ssl.SSLContext, people: People) -> None:
        self.seen = Observations()
        self._base_url, self._trust, self._people = base_url, trust, people
        self._finished, self._lock = threading.Event(), threading.Lock()
        self._left_at: float | None = None
        self._known_words: list[str] = []
        self._words = 0
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> Self:
        people = self._people
        self._run(self._send_and_wait, people.senders[:-1])
        self._run(self._send, people.senders[-1:])
        self._run(self._read, people.readers)
        self._run(self._pry, people.others)
        self._run(self._read_until_leaving, [people.leaving])
        return self

    def __exit__(self, *_: object) -> None:
        self._finished.set()
        for thread in self._threads:
            thread.join(180)

    def leave(self) -> None:
        """Take the account `leaving` out of its team."""
        self._people.leave()
        self._left_at = time.monotonic()

    @property
    def is_dead(self) -> bool:
        """Whether a client has ended with an exception, which is printed."""
        return any(not thread.is_alive() for thread in self._threads)

    def client(self, key: str) -> _Account:
        return _Account(self.seen.requests, self._base_url, key, self._trust)

    def _run(self, act: Callable[[_Account, int], None], keys: Any) -> None:
        for key in keys:
            number = len(self._threads)
            thread = threading.Thread(target=self._repeat, args=(act, key, number), daemon=True)
            thread.start()
            self._threads.append(thread)

    def _repeat(self, act: Callable[[_Account, int], None], key: str, number: int) -> None:
        with self.client(key) as client:
            generator = DocumentGenerator(number)
            client.generator, client.number = generator, number
            for turn in itertools.count():
                if self._finished.wait(_PAUSE_SECONDS):
                    return
                act(client, turn)

    # What the accounts do, in turns.

    def _send(self, client: _Account, turn: int) -> None:
        """Send a job of new documents and of a changed one."""
        documents = [self._document(client, f"{client.number}/{turn}-{index}.md") for index in range(_NEW_DOCUMENTS)]
        if turn:
            documents.append(self._document(client, f"{client.number}/{random.Random(turn).randrange(turn)}-0.md"))
        with self._lock:
            for document in documents:
                self.seen.versions.setdefault(document.path, []).append(document)
        job = client.do("ingest", lambda: client.ingest(SOURCE, documents))
        if job is None:
            return
        with self._lock:
            self.seen.jobs += 1
        client.job_id = job.job_id
        self._finished.wait(4 * _PAUSE_SECONDS)

    def _send_and_wait(self, client: _Account, turn: int) -> None:
        """Send a job, wait until it has ended, and search for the first of its documents."""
        client.job_id = ""
        self._send(client, turn)
        if not client.job_id:
            return
        while not self._finished.wait(_PAUSE_SECONDS):
            job = client.do("job", lambda: client.get_job(client.job_id))
            if job is not None and job.is_finished:
                break
        else:
            return
        path = f"{client.number}/{turn}-0.md"
        word = self.seen.versions[path][0].text.split()[-1].rstrip(".")
        passages = client.do("search", lambda: client.search(word, sources=[SOURCE], top_k=3))
        if passages is not None and all(word not in passage.text for passage in passages):
            self.seen.missing.append(f"{path} of a job that is {job.status}")
        self._known_words = [*self._known_words[-50:], word]

    def _read(self, client: _Account, turn: int) -> None:
        if not self._known_words:
            return
        word = random.choice(self._known_words)
        if turn % 2:
            passages = client.do("search", lambda: client.search(word, top_k=3))
        else:
            answer = client.do("ask", lambda: client.ask(f"What is {word}?", sources=[SOURCE]))
            passages = None if answer is None else list(answer.documents)
        if passages is not None:
            self.seen.successes += any(word in passage.text for passage in passages)

    def _pry(self, client: _Account, turn: int) -> None:
        """Search as somebody who may not: with and without the source's name, and ask."""
        if not self._known_words:
            return
        word, sources = random.choice(self._known_words), [SOURCE] if turn % 2 else []
        try:
            if turn % 3:
                passages = client.do(
                    "search of another", lambda: client.search(word, sources=sources), raises=(NotFound, NotAllowed)
                )
            else:
                answer = client.do(
                    "ask of another", lambda: client.ask(word, sources=sources), raises=(NotFound, NotAllowed)
                )
                passages = list(answer.documents) if answer else []
        except (NotFound, NotAllowed):
            passages = []
        if passages:
            self.seen.leaks.append(f"account {client.number} found {passages[0].path}")
        else:
            self.seen.refused_searches += 1

    def _read_until_leaving(self, client: _Account, turn: int) -> None:
        if not self._known_words:
            return
        word, left_at, begin = random.choice(self._known_words), self._left_at, time.monotonic()
        try:
            passages = client.do("search", lambda: client.search(word, sources=[SOURCE]), raises=(NotFound, NotAllowed))
        except (NotFound, NotAllowed):
            passages = []
        if left_at is not None and begin > left_at and passages:
            self.seen.leaks.append(f"an account that left found {passages[0].path}")
        elif left_at is None and passages:
            self.seen.successes += 1

    def _document(self, client: _Account, path: str) -> NewDocument:
        """Return a document of a few sections, whose last word is in no other version of any document."""
        text = client.generator.text(_SECTIONS)
        with self._lock:
            self._words += 1
            word = _word(self._words)
        return NewDocument(path, f"{text} {word}.", lang="eo", title=f"About {path}")
