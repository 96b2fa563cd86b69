"""The scenarios of `make abuse`. Each is a row of the printed table."""

import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from .attacks.expensive import Outcome, percentile, send_documents, send_expensive_requests
from .attacks.flood import flood
from .attacks.hostile import search_meanwhile
from .attacks.oversized import cases, send_case
from .attacks.slow_clients import NO_ANSWER_SECONDS, SlowClients, measure_requests
from .faults import FAULTS
from .installation import Product
from .ledger import Findings, Ledger
from .traffic import Call, Person, endless_calls
from .under_faults import inject, wait_for_jobs
from .world import create_people

# Requests of a flood, and the time within which all of them must be answered.
_FLOOD_REQUESTS, _FLOOD_TIMEOUT_SECONDS = 1000, 240
# How much the web processes may have grown after all oversized requests.
_MAX_GROWTH_BYTES = 300 * 2**20
# How long 99 % of the searches beside hostile connections may take, and the first one after them.
_MAX_SEARCH_SECONDS, _MAX_RECOVERY_SECONDS = 1.0, 2.0
# How long a short request may take beside slow clients.
_MAX_SHORT_REQUEST_SECONDS = 5.0


@dataclass
class Row:
    """A scenario's outcome.

    Attributes:
        name: Name of the scenario.
        requests: How many requests were sent.
        success: How many of them succeeded.
        errors: How many ended in an error that the contract has.
        broken: How often each promise was broken.
        findings: The comparison of acknowledged and stored writes.
        notes: Further figures for the reader.
    """

    name: str
    requests: int = 0
    success: int = 0
    errors: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    findings: Findings = field(default_factory=Findings)
    notes: str = ""

    @property
    def is_good(self) -> bool:
        return not self.broken and self.findings.is_good


def run(product: Product, *, names: Sequence[str], seconds: float) -> list[Row]:
    """Run these scenarios, or all of them if none is named. `seconds` is the minimum duration of each fault."""
    people = create_people(6, embeddings_url=product.embeddings.base_url)
    scenarios: dict[str, Callable[[], Row]] = {
        name: lambda name=name: run_fault(product, people, name, seconds)  # type: ignore[misc]
        for name in FAULTS
    }
    scenarios |= {
        "slow clients": lambda: run_slow_clients(product, people[0]),
        "60 wait for a model": lambda: run_waiting_for_model(product, people[0]),
        "flood": lambda: run_flood(product, people),
        "flood with rate limits": lambda: run_flood(product, people, has_rate_limits=True),
        "oversized": lambda: run_oversized(product, people[0]),
        "expensive requests": lambda: run_expensive(product, people[0], people[1]),
        "hostile connections": lambda: run_hostile(product, people[0], people[1]),
        "hostile and expensive": lambda: run_hostile(product, people[0], people[1], author=people[2]),
    }
    rows = []
    for name in names or scenarios:
        rows.append(scenarios[name]())
        _print(rows[-1])
    return rows


def run_fault(product: Product, people: list[Person], name: str, seconds: float) -> Row:
    figures = inject(product, people, name, FAULTS[name], calm=3, seconds=seconds)
    row = Row(name, figures.requests, figures.success, figures.errors, figures.broken, figures.findings)
    recovered = "never" if figures.recovery is None else f"after {figures.recovery:.1f} s"
    row.notes = (
        f"last error {figures.last_error:.1f} s after the fault, all operations succeeded {recovered}, "
        f"slowest {figures.slowest:.1f} s"
    )
    if figures.recovery is None:
        row.broken["not every operation succeeded after the fault"] += 1
    if figures.worker_restarts:
        row.broken["a worker ended and had to be restarted"] += figures.worker_restarts
    if figures.unfinished:
        row.broken["a job did not complete"] += figures.unfinished
    return row


def run_slow_clients(product: Product, person: Person) -> Row:
    """One kind of slow client after the other, far more of them than threads, with short requests beside them."""
    row, slowest = Row("slow clients"), []
    counts = {"silent": 200, "headers": 200, "short_bodies": 200, "long_bodies": 40, "chunked_bodies": 40}
    counts |= {"unread_streams": 10, "unclosed_connections": 50}
    for kind, count in counts.items():
        clients = SlowClients(product.port, person.headers)
        getattr(clients, kind)(count)
        with clients.busy():
            time.sleep(1)
            times = measure_requests(product.port, "/healthz", 5) + measure_requests(product.port, "/readyz", 2)
        row.requests += len(times)
        _count_short_requests(row, times, beside=f"{kind}: ")
        row.success += sum(seconds < _MAX_SHORT_REQUEST_SECONDS for seconds in times)
        slowest.append(f"{count} {kind.replace('_', ' ')} {max(times):.2f} s")
    row.broken = +row.broken
    row.notes = "slowest short request beside " + ", ".join(slowest)
    return row


def _count_short_requests(row: Row, times: Sequence[float], *, beside: str = "") -> None:
    """Count short requests that took too long as broken promises."""
    broken = f"{beside}a short request took more than {_MAX_SHORT_REQUEST_SECONDS:.0f} s"
    row.broken[broken] += sum(seconds >= _MAX_SHORT_REQUEST_SECONDS for seconds in times)


def run_waiting_for_model(product: Product, person: Person) -> Row:
    """More requests than threads wait for a language model that hangs, with short requests beside them."""
    body = {"messages": [{"role": "user", "content": "Where are the keys?"}]}
    calls = [(Call("chat", "POST", "/api/chat", body), person.headers)] * 60
    flood(product.port, calls[:8], timeout=60)  # so that each process has loaded its libraries
    with FAULTS["language model hangs"](product), ThreadPoolExecutor(1) as executor:
        future = executor.submit(flood, product.port, calls, timeout=60)
        time.sleep(1.5)
        times = measure_requests(product.port, "/healthz", 5)
        result = future.result()
    row = Row("60 wait for a model", result.requests, broken=result.broken)
    row.errors = sum(result.answers.values()) - result.answers["200"]
    row.success = result.answers["200"]
    _count_short_requests(row, times)
    row.broken = +row.broken
    row.notes = (
        f"slowest short request meanwhile {max(times):.2f} s, {dict(result.answers)}, p50 {result.percentile(50):.1f} s"
    )
    return row


def run_flood(product: Product, people: list[Person], *, has_rate_limits: bool = False) -> Row:
    """Send _FLOOD_REQUESTS requests at once; with rate limits, the web server is restarted before and after."""
    if has_rate_limits:
        product.stop_web()
        os.environ["RAG_RATE_LIMITS"] = "on"
        product.start_web()
    ledger = Ledger()
    calls_of_people = [
        endless_calls(Person(f"flood-{has_rate_limits}-{person.name}", person.headers, person.sources), ledger)
        for person in people
    ]
    calls: list[tuple[Call, dict[str, str]]] = []
    for person, person_calls in itertools.cycle(list(zip(people, calls_of_people, strict=True))):
        call = next(person_calls)
        if call.method != "DELETE" and call.headers == {}:
            calls.append((call, person.headers))
        if len(calls) == _FLOOD_REQUESTS:
            break
    result = flood(product.port, calls, timeout=_FLOOD_TIMEOUT_SECONDS)
    row = Row("flood" + (" with rate limits" if has_rate_limits else ""), result.requests, broken=result.broken)
    row.success = sum(count for status, count in result.answers.items() if status < "300")
    row.errors = sum(result.answers.values()) - row.success
    row.notes = f"p50 {result.percentile(50):.1f} s, p95 {result.percentile(95):.1f} s, {dict(result.answers)}"
    if result.errors:
        row.notes += f", errors {dict(result.errors)}"
    if unfinished := wait_for_jobs(product):
        row.broken["a job did not complete"] += unfinished
    row.findings = ledger.compare()
    if max(times := measure_requests(product.port, "/readyz", 3)) > _MAX_SHORT_REQUEST_SECONDS:
        row.broken[f"not ready afterwards: {times}"] += 1
    if has_rate_limits:
        os.environ["RAG_RATE_LIMITS"] = "off"
        product.stop_web()
        product.start_web()
    return row


def run_oversized(product: Product, person: Person) -> Row:
    row, bytes_before = Row("oversized"), product.web_memory()
    peak_bytes = bytes_before
    for case in cases(person.headers):
        status, failure = send_case(product.port, case)
        row.requests += 1
        row.success += status == 200
        row.errors += 400 <= status < 500
        if failure:
            row.broken[f"{case.name}: {status} {failure}"] += 1
        peak_bytes = max(peak_bytes, product.web_memory())
    growth = peak_bytes - bytes_before
    row.notes = f"memory of the web processes {bytes_before / 2**20:.0f} MB before, {peak_bytes / 2**20:.0f} MB at most"
    if growth > _MAX_GROWTH_BYTES:
        row.broken[f"the web processes grew by {growth / 2**20:.0f} MB"] += 1
    if NO_ANSWER_SECONDS in measure_requests(product.port, "/readyz", 3):
        row.broken["not ready afterwards"] += 1
    return row


def run_expensive(product: Product, sender: Person, searcher: Person) -> Row:
    """50 documents that cost seconds each, sent at once by one person, with the searches of another one beside them."""
    outcome = Outcome()
    send_expensive_requests(product.port, sender, searcher, outcome)
    row = Row("expensive requests", outcome.requests, outcome.answers[200], broken=+outcome.broken)
    row.errors = sum(outcome.answers.values()) - row.success
    _count_short_requests(row, outcome.searches)
    row.broken = +row.broken
    row.notes = (
        f"{dict(outcome.answers)}, {len(outcome.searches)} searches meanwhile: {outcome.describe_searches()}; "
        f"{len(outcome.idle_searches)} before: {outcome.describe_idle_searches()}"
    )
    return row


def run_hostile(product: Product, hostile: Person, searcher: Person, *, author: Person | None = None) -> Row:
    """ABUSE_CONNECTIONS hostile connections of one address, with the searches of another one beside them.

    Args:
        author: Sends documents that cost seconds of CPU each, at the same time.
    """
    count, documents = int(os.environ.get("ABUSE_CONNECTIONS", "500")), Outcome()

    def attack() -> None:
        if author:
            send_documents(product.port, author, documents)

    large_file = product.folder / "static" / "large.bin"
    large_file.parent.mkdir(parents=True, exist_ok=True)
    large_file.write_bytes(bytes(4_000_000))
    product.stop_web()
    product.start_web()  # which finds the file
    attack()  # so that each process has loaded what documents need, and the growth below is that of another attack
    documents.answers.clear()
    product.language_model.stall.clear()  # streams are held
    try:
        outcome = search_meanwhile(
            *(product.port, count, hostile, searcher, "/static/large.bin"), memory=product.web_memory, attack=attack
        )
    finally:
        product.language_model.stall.set()
    row = Row(f"{count} hostile connections", len(outcome.before) + len(outcome.meanwhile) + 1)
    row.success = row.requests - outcome.failures.total()
    row.broken.update(outcome.failures)
    row.broken.update(documents.broken)
    if percentile(outcome.meanwhile, 99) > _MAX_SEARCH_SECONDS:
        row.broken["99 % of the searches took longer than a second"] += 1
    if outcome.recovery > _MAX_RECOVERY_SECONDS:
        row.broken[f"the first search afterwards took {outcome.recovery:.1f} s"] += 1
    if outcome.growth_bytes > _MAX_GROWTH_BYTES:
        row.broken[f"the web processes grew by {outcome.growth_bytes / 2**20:.0f} MB"] += 1
    row.notes = outcome.describe()
    if author:
        row.name += " and expensive documents"
        row.notes += f"; documents: {dict(documents.answers)}"
    return row


def _print(row: Row) -> None:
    findings = row.findings
    print(
        f"{row.name:26} requests {row.requests:5}  success {row.success:5}  contract's error {row.errors:4}  broken "
        f"{sum(row.broken.values()):3}  acknowledged {findings.acknowledged:4}  lost {len(findings.lost)}  doubled "
        f"{len(findings.doubled)}  partial {len(findings.partial)}\n{'':27}{row.notes}",
        flush=True,
    )
    for reason, count in row.broken.most_common(20):
        print(f"    {count:4}  {reason}")
    for name in [*findings.lost, *findings.doubled, *findings.partial][:10]:
        print(f"          {name}")
