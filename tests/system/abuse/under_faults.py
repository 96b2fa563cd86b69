"""Steady traffic, and a fault in the middle of it."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from django.db import connection

from rag.models import IngestionJob

from .faults import Fault
from .judge import Kind
from .ledger import Findings, Ledger
from .product import Product
from .traffic import Answer, Person, Traffic, counted, operations

# Seconds in which everything must work again, and in which jobs must end.
_RECOVERY, _JOBS = 60, 120


@dataclass
class Figures:
    """last_error: seconds from the fault's end to the last answer that was no success. recovery: until every operation
    has succeeded again, which takes as long as it takes the traffic to come by; None: never."""

    name: str
    requests: int = 0
    success: int = 0
    errors: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    slowest: float = 0
    last_error: float = 0
    recovery: float | None = None
    revived: int = 0
    findings: Findings = field(default_factory=Findings)
    unfinished: int = 0

    @property
    def good(self) -> bool:
        return self.recovery is not None and not (self.broken or self.unfinished or self.revived) and self.findings.good


def strike(product: Product, people: list[Person], name: str, fault: Fault, *, calm: float, seconds: float) -> Figures:
    """calm: seconds of undisturbed traffic before (until every operation has succeeded once, if that takes longer).
    seconds: how long the fault lasts, or longer, until everything was asked for while it did."""
    ledger, revived = Ledger(), product.revived
    people = [Person(f"{_slug(name)}-{person.name}", person.headers, person.sources) for person in people]
    with Traffic(product.port, people, ledger) as traffic:
        begun = time.monotonic()
        _wait(lambda: time.monotonic() > begun + calm and _whole_days(traffic), _RECOVERY)
        with fault(product):
            struck = time.monotonic()
            _wait(lambda: time.monotonic() > struck + seconds and traffic.all_asked_since(struck), 3 * seconds)
        over = time.monotonic()
        recovered = _wait(lambda: traffic.all_succeed_since(over), _RECOVERY, product)
    figures = _figures(name, traffic.answers, over if recovered else None)
    figures.unfinished = finish(product)
    figures.findings = ledger.compared()
    figures.revived = product.revived - revived
    return figures


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


def _whole_days(traffic: Traffic) -> bool:
    return len(operations(traffic.answers)) > 20 and traffic.all_succeed_since(0)


def _figures(name: str, answers: list[Answer], over: float | None) -> Figures:
    kinds = counted(answers)
    figures = Figures(name, len(answers), kinds[Kind.SUCCESS], kinds[Kind.ERROR])
    figures.broken = Counter(
        f"{each.operation}: {each.verdict.why}" for each in answers if each.verdict.kind is Kind.BROKEN
    )
    figures.slowest = max(answer.seconds for answer in answers)
    if over is not None:
        first: dict[str, float] = {}
        for answer in answers:
            if answer.begun >= over and answer.verdict.kind is Kind.SUCCESS:
                first[answer.operation] = min(first.get(answer.operation, answer.ended), answer.ended)
        figures.recovery = max(first.values()) - over
        late = [each.ended - over for each in answers if each.verdict.kind is not Kind.SUCCESS]
        figures.last_error = max([0.0, *late])
    return figures


def _wait(question: Callable[[], bool], seconds: float, product: Product | None = None) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if question():
            return True
        if product:
            product.keep_worker_running()
        time.sleep(0.1)
    return False


def finish(product: Product) -> int:
    """The jobs' documents that do not end well in their time."""
    connection.close()  # the server may be another one now
    _wait(lambda: not IngestionJob.objects.filter(finished_at=None).exists(), _JOBS, product)
    return IngestionJob.objects.exclude(status=IngestionJob.Status.COMPLETED).count()
