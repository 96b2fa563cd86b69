"""Celery: the rows are the truth and a message is only a hint, so no result backend."""

from celery.schedules import crontab
from kombu import Queue

from .base import REDIS_URL, TIME_ZONE
from .rag import RAG_QUALITY_HOUR, RAG_SWEEP_INTERVAL_SECONDS

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
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# KB: a process that a very long document has left this large is replaced when its message is done.
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 1_000_000
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = TIME_ZONE
# A queue of its own: behind ten thousand documents a sweep would come too late for the one whose worker died.
CELERY_TASK_DEFAULT_QUEUE = "ingestion"
# And one for what may take long and can wait.
CELERY_TASK_QUEUES = (Queue("ingestion"), Queue("maintenance"), Queue("background"))
_OFTEN = {
    "rag.sweep_ingestion": RAG_SWEEP_INTERVAL_SECONDS,
    "rag.purge_deleted": RAG_SWEEP_INTERVAL_SECONDS,
    "rag.tend_vector_index": 3 * RAG_SWEEP_INTERVAL_SECONDS,
    "rag.tend_words": 3 * RAG_SWEEP_INTERVAL_SECONDS,
    "rag.reembed": RAG_SWEEP_INTERVAL_SECONDS,
    "rag.supply_piece_bits": RAG_SWEEP_INTERVAL_SECONDS,
}
_NIGHTLY = {
    "rag.check_usage": crontab(hour=3, minute=10),
    "rag.check_words": crontab(hour=3, minute=30),
    "rag.forget_inputs": crontab(hour=3, minute=20),
    "rag.forget_history": crontab(hour=3, minute=30),
    "rag.forget_audit_events": crontab(hour=3, minute=50),
    "rag.measure_all_quality": crontab(hour=RAG_QUALITY_HOUR, minute=0),
}
_BACKGROUND = (
    "rag.reembed",
    "rag.measure_all_quality",
    "rag.measure_quality",
    "rag.tend_vector_index",
    "rag.tend_words",
    "rag.check_words",
    "rag.supply_piece_bits",
)
CELERY_TASK_ROUTES = {
    **{name: {"queue": "maintenance"} for name in (*_OFTEN, *_NIGHTLY)},
    **{name: {"queue": "background"} for name in _BACKGROUND},
}
# Without a worker the sweeps of an hour must not pile up.
CELERY_BEAT_SCHEDULE = {
    **{name: {"task": name, "schedule": seconds, "options": {"expires": 60}} for name, seconds in _OFTEN.items()},
    **{name: {"task": name, "schedule": when, "options": {"expires": 3600}} for name, when in _NIGHTLY.items()},
}
