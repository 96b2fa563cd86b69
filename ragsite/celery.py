"""The Celery application. It reads the CELERY_ settings of Django and finds the tasks in each app's tasks.py."""

import os
import sys
import time
from typing import Any

from celery import Celery, Task
from celery.signals import before_task_publish, setup_logging, task_postrun, task_prerun, worker_init, worker_ready
from django.db import close_old_connections
from django_structlog.celery.steps import DjangoStructLogInitStep
from kombu.transport.redis import Channel, QoS

from .observability import tracing
from .postgres import identity

# Celery would run Django's checks in each worker and ignore what they find. They import every page of the admin, which
# takes half of the time of a start. `migrate` and `make run` make them too, and stop at an error.
os.environ.setdefault("CELERY_SKIP_CHECKS", "1")

app = Celery("ragsite")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.steps["worker"].add(DjangoStructLogInitStep)
app.autodiscover_tasks()
# A closing channel would restore its unacknowledged messages. If it closes because Redis is gone, that raises an
# AttributeError, which ends the worker. Nothing is lost without it: the sweep sends messages for all waiting rows.
Channel.do_restore = False


class OpenChannelQoS(QoS):
    """Ignores acknowledgements for a closed channel, which would raise an AttributeError and so end the worker.

    After Redis was away, tasks that were cancelled acknowledge messages of the closed channel. Such a message comes
    again after the visibility timeout, and its task finds nothing to do.
    """

    def ack(self, delivery_tag: str) -> None:
        if not self.channel.closed:
            super().ack(delivery_tag)

    def reject(self, delivery_tag: str, requeue: bool = False) -> None:
        if not self.channel.closed:
            super().reject(delivery_tag, requeue=requeue)


Channel.QoS = OpenChannelQoS


@setup_logging.connect
def keep_django_logging(**_: object) -> None:
    """Celery replaces Django's logging configuration unless this signal has a receiver."""


@before_task_publish.connect
def add_publication_time(headers: dict[str, object], **_: object) -> None:
    """Celery's messages do not say how old they are, which shows whether a queue is served."""
    headers["published_at"] = time.time()
    tracing.inject(headers)


@worker_init.connect
def set_worker_identity(**_: object) -> None:
    identity.run_process_as(identity.WORKER)
    # Django's database layer needs the settings, which are not loaded when this module is imported.
    from .postgres.versions.compatibility import OutdatedDatabaseError, require_current_database

    try:
        require_current_database()
    except OutdatedDatabaseError as error:
        sys.exit(str(error))


@worker_init.connect
def ignore_other_workers(sender: Any, **_: object) -> None:
    """Leases say who works on what, so workers need not know of each other.

    Mingle would delay each start by a second, and gossip fails while Redis is away (celery/kombu issue 582).
    """
    sender.options.update(without_gossip=True, without_mingle=True)


@task_prerun.connect
@task_postrun.connect
def close_unusable_connections(task: Task[..., object], **_: object) -> None:
    """Close this thread's database connections that are lost or older than CONN_MAX_AGE, as for a request.

    A task that its caller runs itself (`apply`) may be in a transaction of the caller.
    """
    if not task.request.is_eager:
        close_old_connections()


@worker_ready.connect
def sweep_at_start(**_: object) -> None:
    """A new worker starts immediately with the documents that a killed worker left unfinished."""
    app.send_task("rag.sweep_ingestion")
