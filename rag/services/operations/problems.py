"""What is wrong with the installation, and what to do about it."""

from dataclasses import dataclass
from enum import IntEnum

from django.conf import settings
from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext, ngettext

from rag.models import Condition
from rag.services.jobs.job_lookup import STARVED_ADVICE

from .installation_state import InstallationState

_MAX_SECONDS_IN_QUEUE = 300
_MIN_FREE_SHARE = 0.1
_MAX_FAILURE_SHARE = 0.1
# Fewer calls than this say nothing about an error rate.
_MIN_CALLS = 5


class Level(IntEnum):
    """How urgent a problem is."""

    OK, WARNING, CRITICAL = range(3)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that is wrong, and what to do about it."""

    level: Level
    text: str
    advice: str


def find_problems(state: InstallationState) -> list[Problem]:
    """Return what is wrong, each with what to do; the most urgent first."""
    if not state.has_database:
        return [
            Problem(
                Level.CRITICAL,
                gettext("PostgreSQL does not answer, so nothing works."),
                gettext("Start it, and check DATABASE_URL and the free disk space of its server."),
            )
        ]
    problems = [
        *_problems_of_broker(state),
        *_problems_of_workers(state),
        *_problems_of_documents(state),
        *_problems_of_models(state),
        *_problems_of_disk(state),
    ]
    return sorted(problems, key=lambda problem: -problem.level)


def _problems_of_broker(state: InstallationState) -> list[Problem]:
    if state.queues is None:
        advice = gettext(
            "Start it, or correct REDIS_URL. Questions are still answered; new documents wait and are not lost."
        )
        return [Problem(Level.CRITICAL, gettext("Redis does not answer, so no documents are ingested."), advice)]
    late = [queue.name for queue in state.queues if (queue.oldest_age_seconds or 0) > _MAX_SECONDS_IN_QUEUE]
    if not late:
        return []
    text = gettext("Messages have waited for more than five minutes in: {value}.").format(value=", ".join(late))
    return [
        Problem(Level.WARNING, text, gettext("Start more workers for these queues, or wait until a large job is done."))
    ]


def _problems_of_workers(state: InstallationState) -> list[Problem]:
    problems = []
    served = {queue for worker in state.workers if worker.is_online for queue in worker.queues}
    missing = [queue.name for queue in settings.CELERY_TASK_QUEUES if queue.name not in served]
    if missing:
        text = gettext("No worker serves: {value}.").format(value=", ".join(missing))
        advice = gettext("Start a worker for these queues, and read its log if it does not stay.")
        problems.append(Problem(Level.CRITICAL, text, advice))
    if lost := [worker.name for worker in state.workers if not worker.is_online]:
        text = gettext("Workers died or lost the database: {value}.").format(value=", ".join(lost))
        level = Level.WARNING if not missing else Level.CRITICAL
        problems.append(Problem(level, text, gettext("Read their logs. Their documents are given to other workers.")))
    late = [task.name for task in state.schedule if task.is_late]
    if late and state.queues is not None and "maintenance" not in missing:
        text = gettext("Scheduled tasks are late: {value}.").format(value=", ".join(late))
        problems.append(
            Problem(Level.WARNING, text, gettext("Check that the scheduler (Celery beat) runs; there must be one."))
        )
    return problems


def _problems_of_documents(state: InstallationState) -> list[Problem]:
    problems = []
    if starved := state.conditions.get(Condition.STARVED, 0):
        text = ngettext(
            "{starved} document is starved: no worker takes documents.",
            "{starved} documents are starved: no worker takes documents.",
            starved,
        )
        text = text.format(starved=intcomma(starved))
        problems.append(Problem(Level.CRITICAL, text, gettext(STARVED_ADVICE)))
    if lost := state.conditions.get(Condition.LOST, 0):
        text = ngettext("{lost} document has lost its worker.", "{lost} documents have lost their worker.", lost)
        text = text.format(lost=intcomma(lost))
        problems.append(
            Problem(
                Level.WARNING, text, gettext("If the scheduler runs, it gives them to another worker within seconds.")
            )
        )
    return problems


def _problems_of_models(state: InstallationState) -> list[Problem]:
    problems = []
    for model in state.models:
        if model.outage_until:
            text = gettext("The model {name} does not answer; its documents wait.").format(name=model.name)
            problems.append(Problem(Level.WARNING, text, gettext("Check its endpoint, its key and its limits.")))
        elif model.calls.count >= _MIN_CALLS and (model.calls.failure_share or 0) > _MAX_FAILURE_SHARE:
            text = gettext("{failures} of {count} calls of {name} failed in the last hour.").format(
                failures=model.calls.failures, count=model.calls.count, name=model.name
            )
            problems.append(Problem(Level.WARNING, text, gettext("Check its endpoint, its key and its limits.")))
    return problems


def _problems_of_disk(state: InstallationState) -> list[Problem]:
    measured = state.sizes
    if measured is None or not measured.disk_total or measured.disk_free is None:
        return []
    if measured.disk_free / measured.disk_total > _MIN_FREE_SHARE:
        return []
    text = gettext("Less than 10 % of the disk with the original files is free.")
    return [Problem(Level.WARNING, text, gettext("Free some space, or move the files to a larger disk or a bucket."))]
