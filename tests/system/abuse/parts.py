"""The parts of an abuse, each a row of the table."""

import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from .faults import FAULTS
from .flood import flood
from .ledger import Findings, Ledger
from .oversized import cases, tried
from .product import Product
from .slow_clients import NO_ANSWER_SECONDS, SlowClients, answer_times
from .traffic import Call, Person, day
from .under_faults import finish, strike
from .world import people

# Of a flood: requests at once, and seconds in which all must be answered.
FLOOD, _FLOOD_PATIENCE = 1000, 240
# Bytes that the web processes may have grown by when everything oversized is over.
_GROWTH = 300 * 2**20
# Seconds for a short request beside slow clients.
_SHORT = 5.0


@dataclass
class Row:
    """broken: what was promised and did not happen, and how often. notes: figures for the reader."""

    name: str
    requests: int = 0
    success: int = 0
    errors: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    findings: Findings = field(default_factory=Findings)
    notes: str = ""

    @property
    def good(self) -> bool:
        return not self.broken and self.findings.good


def run(product: Product, *, wanted: Sequence[str], seconds: float) -> list[Row]:
    everybody = people(6, embeddings=product.embeddings.base_url)
    parts: dict[str, Callable[[], Row]] = {
        name: lambda name=name: _struck(product, everybody, name, seconds)  # type: ignore[misc]
        for name in FAULTS
    }
    parts |= {
        "slow clients": lambda: slow(product, everybody[0]),
        "60 wait for a model": lambda: waiting(product, everybody[0]),
        "1,000 at once": lambda: at_once(product, everybody),
        "1,000 at once, limits on": lambda: at_once(product, everybody, limits=True),
        "oversized": lambda: oversized(product, everybody[0]),
    }
    rows = []
    for name in wanted or parts:
        rows.append(parts[name]())
        _print(rows[-1])
    return rows


def _struck(product: Product, everybody: list[Person], name: str, seconds: float) -> Row:
    figures = strike(product, everybody, name, FAULTS[name], calm=3, seconds=seconds)
    row = Row(name, figures.requests, figures.success, figures.errors, figures.broken, figures.findings)
    recovered = "never" if figures.recovery is None else f"by {figures.recovery:.1f} s"
    row.notes = (
        f"last error {figures.last_error:.1f} s after, all succeeded {recovered}, slowest {figures.slowest:.1f} s"
    )
    if figures.recovery is None:
        row.broken["not everything works again"] += 1
    if figures.revived:
        row.broken["a worker ended and had to be started again"] += figures.revived
    if figures.unfinished:
        row.broken["a job did not end well"] += figures.unfinished
    return row


def slow(product: Product, person: Person) -> Row:
    """One kind after the other, far more of them than there are threads; short requests meanwhile."""
    row, worst = Row("slow clients"), []
    many = {"nothing": 200, "headers": 200, "short_bodies": 200}
    few = {"long_bodies": 40, "pieces": 40, "readers": 10, "stayers": 50}
    for kind, count in {**many, **few}.items():
        clients = SlowClients(product.port, person.headers)
        getattr(clients, kind)(count)
        with clients.busy():
            time.sleep(1)
            times = answer_times(product.port, "/healthz", 5) + answer_times(product.port, "/readyz", 2)
        row.requests += len(times)
        row.success += sum(each < _SHORT for each in times)
        row.broken[f"{kind}: a short request took more than {_SHORT:.0f} s"] += sum(each >= _SHORT for each in times)
        worst.append(f"{count} {kind.replace('_', ' ')} {max(times):.2f} s")
    row.broken = +row.broken
    row.notes = "slowest short request beside " + ", ".join(worst)
    return row


def waiting(product: Product, person: Person) -> Row:
    """More than there are threads ask a language model that hangs; short requests meanwhile."""
    body = {"messages": [{"role": "user", "content": "Where are the keys?"}]}
    calls = [(Call("chat", "POST", "/api/chat", body), person.headers)] * 60
    flood(product.port, calls[:8], patience=60)  # each process loads its libraries at the first one
    with FAULTS["language model hangs"](product), ThreadPoolExecutor(1) as aside:
        asked = aside.submit(flood, product.port, calls, patience=60)
        time.sleep(1.5)
        times = answer_times(product.port, "/healthz", 5)
        found = asked.result()
    row = Row("60 wait for a model", found.requests, broken=found.broken)
    row.errors = sum(found.answers.values()) - found.answers["200"]
    row.success = found.answers["200"]
    row.broken[f"a short request took more than {_SHORT:.0f} s"] += sum(each >= _SHORT for each in times)
    row.broken = +row.broken
    row.notes = (
        f"slowest short request meanwhile {max(times):.2f} s, {dict(found.answers)}, p50 {found.percentile(50):.1f} s"
    )
    return row


def at_once(product: Product, everybody: list[Person], *, limits: bool = False) -> Row:
    """limits: with the rate limits, in a web server of its own."""
    if limits:
        product.stop_web()
        os.environ["RAG_RATE_LIMITS"] = "on"
        product.start_web()
    ledger = Ledger()
    days = [day(Person(f"flood-{limits}-{each.name}", each.headers, each.sources), ledger) for each in everybody]
    calls: list[tuple[Call, dict[str, str]]] = []
    for person, calm in itertools.cycle(list(zip(everybody, days, strict=True))):
        call = next(calm)
        if call.method != "DELETE" and call.headers == {}:
            calls.append((call, person.headers))
        if len(calls) == FLOOD:
            break
    found = flood(product.port, calls, patience=_FLOOD_PATIENCE)
    row = Row("1,000 at once" + (", limits on" if limits else ""), found.requests, broken=found.broken)
    row.success = sum(count for status, count in found.answers.items() if status < "300")
    row.errors = sum(found.answers.values()) - row.success
    row.notes = f"p50 {found.percentile(50):.1f} s, p95 {found.percentile(95):.1f} s, {dict(found.answers)}"
    if unfinished := finish(product):
        row.broken["a job did not end well"] += unfinished
    row.findings = ledger.compared()
    if max(times := answer_times(product.port, "/readyz", 3)) > _SHORT:
        row.broken[f"not ready afterwards: {times}"] += 1
    if limits:
        os.environ["RAG_RATE_LIMITS"] = "off"
        product.stop_web()
        product.start_web()
    return row


def oversized(product: Product, person: Person) -> Row:
    row, before = Row("oversized"), product.web_memory()
    most = before
    for case in cases(person.headers):
        status, wrong = tried(product.port, case)
        row.requests += 1
        row.success += status == 200
        row.errors += 400 <= status < 500
        if wrong:
            row.broken[f"{case.name}: {status} {wrong}"] += 1
        most = max(most, product.web_memory())
    row.notes = f"memory of the web processes {before / 2**20:.0f} MB before, {most / 2**20:.0f} MB at most"
    if most - before > _GROWTH:
        row.broken[f"they grew by {(most - before) / 2**20:.0f} MB"] += 1
    if NO_ANSWER_SECONDS in answer_times(product.port, "/readyz", 3):
        row.broken["not ready afterwards"] += 1
    return row


def _print(row: Row) -> None:
    found = row.findings
    print(
        f"{row.name:26} requests {row.requests:5}  success {row.success:5}  contract's error {row.errors:4}  broken "
        f"{sum(row.broken.values()):3}  acknowledged {found.acknowledged:4}  lost {len(found.lost)}  doubled "
        f"{len(found.doubled)}  torn {len(found.torn)}\n{'':27}{row.notes}",
        flush=True,
    )
    for why, count in row.broken.most_common(20):
        print(f"    {count:4}  {why}")
    for name in [*found.lost, *found.doubled, *found.torn][:10]:
        print(f"          {name}")
