"""Celery: the rows are the truth and a message is only a hint, so no result backend and late acknowledgement."""

from celery.schedules import crontab
from kombu import Queue

from .base import REDIS_URL, TIME_ZONE
from .rag import RAG_QUALITY_HOUR, RAG_SWEEP_SECONDS

CELERY_BROKER_URL = REDIS_URL.replace("unix://", "redis+socket://", 1)
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
# A publisher gives up soon when Redis is down: the sweep sends the work again.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "socket_connect_timeout": 2,
    "socket_timeout": 30,
    "visibility_timeout": 3600,
    "global_keyprefix": "ragsite:",
}
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0, "interval_step": 0.2}
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = TIME_ZONE
# A queue of its own: behind ten thousand documents a sweep would come too late for the one whose worker died.
CELERY_TASK_DEFAULT_QUEUE = "ingestion"
# And one for what may take long and can wait: workers take from all queues in turn.
CELERY_TASK_QUEUES = (Queue("ingestion"), Queue("maintenance"), Queue("background"))
CELERY_TASK_ROUTES = {
    **{name: {"queue": "maintenance"} for name in ("rag.sweep_ingestion", "rag.purge_deleted")},
    **{name: {"queue": "background"} for name in ("rag.reembed", "rag.measure_all_quality", "rag.measure_quality")},
}
CELERY_BEAT_SCHEDULE = {
    "sweep-ingestion": {
        "task": "rag.sweep_ingestion",
        "schedule": RAG_SWEEP_SECONDS,
        # Without a worker the sweeps of an hour must not pile up.
        "options": {"expires": 60},
    },
    "purge-deleted": {"task": "rag.purge_deleted", "schedule": RAG_SWEEP_SECONDS, "options": {"expires": 60}},
    "reembed": {"task": "rag.reembed", "schedule": RAG_SWEEP_SECONDS, "options": {"expires": 60}},
    "measure-quality": {"task": "rag.measure_all_quality", "schedule": crontab(hour=RAG_QUALITY_HOUR, minute=0)},
}
