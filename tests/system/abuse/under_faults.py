"""Sends steady traffic, injects a fault in the middle of it and measures the recovery."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from django.db import connection

from rag.models import IngestionJob

from .faults import Fault
from .installation import Product
from .ledger import Findings, Ledger
from .traffic import Answer, Person, Traffic, count_kinds, operations
from .verdicts import Kind

# Time within which everything must work again, and within which jobs must end.
_MAX_RECOVERY_SECONDS, _MAX_JOB_SECONDS = 60, 120


@dataclass
class Figures:
    """What happened during one fault.

    Attributes:
        name: Name of the fault.
        requests: Requests that were sent before, during and after the fault.
        success: How many of them succeeded.
        errors: How many ended in an error that the contract has.
        broken: How often each promise was broken.
        slowest: Seconds of the slowest request.
        last_error: Seconds from the fault's end to the last answer that was not a success.
        recovery: Seconds from the fault's end until every operation has succeeded again, which includes the time until
            the traffic reaches each operation; None if one never succeeded.
        worker_restarts: How often an ended worker had to be restarted.
        findings: The comparison of acknowledged and stored writes.
        unfinished: How many jobs did not complete.
    """

    name: str
    requests: int = 0
    success: int = 0
    errors: int = 0
    broken: Counter[str] = field(default_factory=Counter)
    slowest: float = 0
    last_error: float = 0
    recovery: float | None = None
    worker_restarts: int = 0
    findings: Findings = field(default_factory=Findings)
    unfinished: int = 0


def inject(product: Product, people: list[Person], name: str, fault: Fault, *, calm: float, seconds: float) -> Figures:
    """Inject a fault into steady traffic.

    Args:
        product: The running product.
        people: Who sends requests.
        name: Name of the fault.
        fault: The fault.
        calm: Minimum seconds of undisturbed traffic before. It lasts until every operation has succeeded once.
        seconds: Minimum duration of the fault. It lasts until every operation was called during it.
    """
    ledger, restarted_before = Ledger(), product.worker_restarts
    people = [Person(f"{_slug(name)}-{person.name}", person.headers, person.sources) for person in people]
    with Traffic(product.port, people, ledger) as traffic:
        started_at = time.monotonic()
        _wait(lambda: time.monotonic() > started_at + calm and _has_called_everything(traffic), _MAX_RECOVERY_SECONDS)
        with fault(product):
            fault_started_at = time.monotonic()
            _wait(
                lambda: (
                    time.monotonic() > fault_started_at + seconds and traffic.has_all_answered_since(fault_started_at)
                ),
                3 * seconds,
            )
        fault_ended_at = time.monotonic()
        has_recovered = _wait(lambda: traffic.has_all_succeeded_since(fault_ended_at), _MAX_RECOVERY_SECONDS, product)
    figures = _figures(name, traffic.answers, fault_ended_at if has_recovered else None)
    figures.unfinished = wait_for_jobs(product)
    figures.findings = ledger.compare()
    figures.worker_restarts = product.worker_restarts - restarted_before
    return figures


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower())


def _has_called_everything(traffic: Traffic) -> bool:
    return len(operations(traffic.answers)) > 20 and traffic.has_all_succeeded_since(0)


def _figures(name: str, answers: list[Answer], fault_ended_at: float | None) -> Figures:
    """The figures of all answers; `fault_ended_at` is None if the product did not recover."""
    kinds = count_kinds(answers)
    figures = Figures(name, len(answers), kinds[Kind.SUCCESS], kinds[Kind.ERROR])
    figures.broken = Counter(
        f"{answer.operation}: {answer.verdict.reason}" for answer in answers if answer.verdict.kind is Kind.BROKEN
    )
    figures.slowest = max(answer.seconds for answer in answers)
    if fault_ended_at is not None:
        first_success: dict[str, float] = {}
        for answer in answers:
            if answer.started_at >= fault_ended_at and answer.verdict.kind is Kind.SUCCESS:
                first_success[answer.operation] = min(
                    first_success.get(answer.operation, answer.ended_at), answer.ended_at
                )
        figures.recovery = max(first_success.values()) - fault_ended_at
        error_times = [
            answer.ended_at - fault_ended_at for answer in answers if answer.verdict.kind is not Kind.SUCCESS
        ]
        figures.last_error = max([0.0, *error_times])
    return figures


def _wait(condition: Callable[[], bool], seconds: float, product: Product | None = None) -> bool:
    """Wait until the condition is true, at most this long; keep the product's worker running meanwhile."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        if product:
            product.keep_worker_running()
        time.sleep(0.1)
    return False


def wait_for_jobs(product: Product) -> int:
    """Wait until all jobs have ended, at most _MAX_JOB_SECONDS; return how many are not completed."""
    connection.close()  # PostgreSQL may have been restarted
    _wait(lambda: not IngestionJob.objects.filter(finished_at=None).exists(), _MAX_JOB_SECONDS, product)
    return IngestionJob.objects.exclude(status=IngestionJob.Status.COMPLETED).count()
