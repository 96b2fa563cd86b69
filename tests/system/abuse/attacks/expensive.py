"""Documents that cost seconds of CPU each, while somebody else searches."""

import http.client
import random
import statistics
import string
import threading
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from tests.support.checks import conformance
from tests.system.abuse.traffic import Call, Person, send

# Half of the documents are refused because of their cost; the other half may be embedded, for about 3.5 seconds each.
_REQUESTS = 50
_TOO_EXPENSIVE_BYTES, _EXPENSIVE_BYTES = 250 * 1024, 20 * 1024
# The server gives up waiting for slots after 60 seconds (rag.providers.limits.expensive_work_limiter).
_DOCUMENT_TIMEOUT_SECONDS = 90
_IDLE_SEARCHES = 50


@dataclass
class Outcome:
    """What came back.

    Attributes:
        answers: How many documents had each status.
        broken: How often each promise was broken.
        searches: Seconds of each search while documents were in progress.
        idle_searches: Seconds of each search before.
    """

    answers: Counter[int] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    searches: list[float] = field(default_factory=list)
    idle_searches: list[float] = field(default_factory=list)

    @property
    def requests(self) -> int:
        return _REQUESTS + len(self.searches) + len(self.idle_searches)

    def describe_searches(self) -> str:
        return describe(self.searches)

    def describe_idle_searches(self) -> str:
        return describe(self.idle_searches)


def send_expensive_requests(port: int, sender: Person, searcher: Person, outcome: Outcome) -> None:
    """Send all documents at once; search until each has an answer; then send a short document."""
    for number in range(_IDLE_SEARCHES):
        outcome.idle_searches.append(_search(port, searcher, f"idle {number}", outcome))
    is_finished = threading.Event()

    def search() -> None:
        number = 0
        while not is_finished.wait(0.02):
            outcome.searches.append(_search(port, searcher, f"busy {number}", outcome))
            number += 1

    with ThreadPoolExecutor(1) as executor:
        searches = executor.submit(search)
        try:
            send_documents(port, sender, outcome)
        finally:
            is_finished.set()
        searches.result()
    if (status := _send_document(port, sender, _document(sender, _REQUESTS, text="Short."), Outcome())) != 200:
        outcome.broken[f"a short document afterwards: {status}"] += 1


def send_documents(port: int, sender: Person, outcome: Outcome) -> None:
    """Send all documents at once, and wait until each has an answer."""
    calls = [_document(sender, number) for number in range(_REQUESTS)]
    with ThreadPoolExecutor(_REQUESTS) as executor:
        futures = [executor.submit(_send_document, port, sender, call, outcome) for call in calls]
        for future in futures:
            future.result()


def _document(person: Person, number: int, *, text: str = "") -> Call:
    path = f"{person.name}/expensive-{number}.txt"
    text = text or _random_words(number, _TOO_EXPENSIVE_BYTES if number % 2 else _EXPENSIVE_BYTES)
    body = {"source": person.sources[0], "path": path, "title": path, "text": text}
    return Call("ingest, expensive", "POST", "/api/rag/ingest", body)


def _random_words(seed: int, size: int) -> str:
    """Words that no vocabulary has: each is split into many tokens."""
    letters = random.Random(seed)
    return " ".join("".join(letters.choices(string.ascii_lowercase, k=7)) for _ in range(size // 8))


def _send_document(port: int, person: Person, call: Call, outcome: Outcome) -> int:
    """Send a document, judge the response, and return its status; 0 without a response."""
    try:
        status, headers, content = send(port, call, person.headers, timeout=_DOCUMENT_TIMEOUT_SECONDS)
        conformance.check_response(call.method, call.path, status, headers, content)
    except (AssertionError, OSError, http.client.HTTPException) as error:
        outcome.broken[f"{call.operation}: {type(error).__name__} {str(error)[:100]}"] += 1
        return 0
    if status not in (200, 413, 429, 503) or (status in (429, 503) and "retry-after" not in headers):
        outcome.broken[f"{call.operation}: {status} {content[:200]!r}"] += 1
    outcome.answers[status] += 1
    return status


def _search(port: int, person: Person, words: str, outcome: Outcome) -> float:
    """Search with a question that no cache has, and return the seconds."""
    body = {"query": f"where do the spare keys hang, {words}", "filters": {"source": person.sources[0]}}
    started_at = time.monotonic()
    try:
        status, _, content = send(port, Call("search", "POST", "/api/rag/search", body), person.headers)
        if status != 200:
            outcome.broken[f"search: {status} {content[:200]!r}"] += 1
    except (OSError, http.client.HTTPException) as error:
        outcome.broken[f"search: {type(error).__name__}"] += 1
    return time.monotonic() - started_at


def describe(seconds: Sequence[float]) -> str:
    if len(seconds) < 2:
        return "too few"
    return f"p50 {percentile(seconds, 50):.3f} s, p99 {percentile(seconds, 99):.3f} s, slowest {max(seconds):.3f} s"


def percentile(seconds: Sequence[float], percent: int) -> float:
    return statistics.quantiles(seconds, n=100, method="inclusive")[percent - 1]
