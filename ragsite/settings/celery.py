"""Celery settings. There is no result backend: the database rows are the source of truth, a message is only a hint."""

import sys

from celery.schedules import crontab
from kombu import Queue

from .base import REDIS_URL, TIME_ZONE
from .rag.ingestion import RAG_SWEEP_INTERVAL_SECONDS

CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A publisher fails fast while Redis is down; the sweep sends the messages later.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 2,
    # A worker that stops waits for the response to its last BRPOP (kombu's Channel.close), which comes within a second
    # unless the connection is dead. It must not wait longer for that than its process may take to stop.
    "socket_timeout": 5,
    "visibility_timeout": 3600,
    "global_keyprefix": "ragsite:",
}
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.2}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Celery would close the database connections before and after each task. ragsite/celery.py closes old and lost ones.
CELERY_DB_REUSE_MAX = sys.maxsize
# KB. A worker process that has grown beyond this, by a very long document, is replaced after its task.
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 1_000_000
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = TIME_ZONE
# Maintenance has a queue of its own: behind ten thousand documents, a sweep would come too late.
CELERY_TASK_DEFAULT_QUEUE = "ingestion"
# The background queue is for tasks that may take long and can wait.
CELERY_TASK_QUEUES = (Queue("ingestion"), Queue("maintenance"), Queue("background"))
_FREQUENT = {
    "rag.sweep_ingestion": RAG_SWEEP_INTERVAL_SECONDS,
    "rag.purge_deleted": RAG_SWEEP_INTERVAL_SECONDS,
    "rag.apply_index_changes": RAG_SWEEP_INTERVAL_SECONDS,
    "rag.maintain_vector_index": 3 * RAG_SWEEP_INTERVAL_SECONDS,
    "rag.maintain_bm25_index": 3 * RAG_SWEEP_INTERVAL_SECONDS,
    "rag.reembed": RAG_SWEEP_INTERVAL_SECONDS,
    "rag.embed_other_languages": RAG_SWEEP_INTERVAL_SECONDS,
    "rag.backfill_token_signatures": RAG_SWEEP_INTERVAL_SECONDS,
    "rag.deliver_webhooks": RAG_SWEEP_INTERVAL_SECONDS,
    "rag.sync_sources": RAG_SWEEP_INTERVAL_SECONDS,
    "rag.measure_quality": RAG_SWEEP_INTERVAL_SECONDS,
}
_NIGHTLY = {
    "rag.check_usage": crontab(hour=3, minute=10),
    "rag.check_term_statistics": crontab(hour=3, minute=30),
    "rag.delete_expired_inputs": crontab(hour=3, minute=20),
    "rag.delete_expired_history": crontab(hour=3, minute=30),
    "rag.delete_expired_deliveries": crontab(hour=3, minute=15),
    "rag.delete_expired_syncs": crontab(hour=3, minute=25),
    "rag.delete_expired_sign_ins": crontab(hour=3, minute=40),
    "rag.delete_expired_audit_events": crontab(hour=3, minute=50),
    "rag.delete_expired_measurements": crontab(hour=3, minute=15),
    "rag.measure_all_quality": crontab(hour=3, minute=0),
}
_HOURLY = {"rag.delete_expired_requests": crontab(minute=5)}
_BY_THE_CLOCK = _HOURLY | _NIGHTLY
_BACKGROUND = (
    "rag.sync_sources",
    "rag.reembed",
    "rag.embed_other_languages",
    "rag.measure_all_quality",
    "rag.measure_quality",
    "rag.maintain_vector_index",
    "rag.maintain_bm25_index",
    "rag.check_term_statistics",
    "rag.backfill_token_signatures",
)
CELERY_TASK_ROUTES = {
    **{name: {"queue": "maintenance"} for name in (*_FREQUENT, *_BY_THE_CLOCK)},
    **{name: {"queue": "background"} for name in _BACKGROUND},
}
# Any number of schedulers may run; one of them sends the tasks.
CELERY_BEAT_SCHEDULER = "ragsite.run.scheduler:SingleScheduler"
# Messages expire, so that they do not pile up while no worker runs.
CELERY_BEAT_SCHEDULE = {
    **{name: {"task": name, "schedule": seconds, "options": {"expires": 60}} for name, seconds in _FREQUENT.items()},
    **{name: {"task": name, "schedule": when, "options": {"expires": 3600}} for name, when in _BY_THE_CLOCK.items()},
}
