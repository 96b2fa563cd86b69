"""The product's settings with short leases, so that a dead worker's documents are requeued soon."""

from ragsite.settings import *
from tests.support.processes.schedules import ten_times_as_often

RAG_LEASE_SECONDS = 2
RAG_SWEEP_INTERVAL_SECONDS = 1
CELERY_BEAT_SCHEDULE = ten_times_as_often(CELERY_BEAT_SCHEDULE)
# Practically unlimited: documents whose worker is killed at every stage must not be set aside.
RAG_MAX_ATTEMPTS = 10_000
