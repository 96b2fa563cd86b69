"""The Celery application: settings come from Django's, under CELERY_, and tasks from each app's tasks.py."""

import os

from celery import Celery
from celery.signals import setup_logging, worker_init, worker_ready
from django_structlog.celery.steps import DjangoStructLogInitStep
from kombu.transport.redis import Channel

from .postgres import identity

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")

app = Celery("ragsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.steps["worker"].add(DjangoStructLogInitStep)
app.autodiscover_tasks()
# A channel that closes would put back what it has not acknowledged. When it closes because Redis is gone, that raises
# an AttributeError, of which the whole worker ends. The rows are the truth: the sweep sends what is missing again.
Channel.do_restore = False


@setup_logging.connect
def keep_django_logging(**_: object) -> None:
    """Connecting a receiver is what stops Celery from replacing Django's logging configuration."""


@worker_init.connect
def work_as_worker(**_: object) -> None:
    identity.run_process_as(identity.WORKER)


@worker_ready.connect
def sweep_at_start(**_: object) -> None:
    """A worker that comes up looks at once for work that an earlier, killed one left behind."""
    app.send_task("rag.sweep_ingestion")
