"""The commands of the four processes of the product, next to PostgreSQL and Redis."""

import os
import sys
from pathlib import Path

# What ragsite.run.migrate_and_collect prints when servers and workers can start.
MIGRATED = "The database is migrated."
_CELERY = [sys.executable, "-m", "celery", "-A", "ragsite", "worker", "--loglevel", "info"]


def worker() -> list[str]:
    """Return the Celery worker that ingests documents, with one process per core."""
    return [*_CELERY, "--concurrency", str(os.cpu_count() or 2), "--queues", "ingestion", "--hostname", "ingestion@%h"]


def scheduler(*, folder: Path) -> list[str]:
    """Return the Celery worker for maintenance tasks, which must not wait behind documents. It also runs Celery beat.

    Args:
        folder: Where beat stores its schedule.
    """
    command = [*_CELERY, "--pool", "threads", "--concurrency", "4", "--queues", "maintenance"]
    return [*command, "--hostname", "maintenance@%h", "--beat", "--schedule", str(folder / "celerybeat-schedule")]


def background() -> list[str]:
    """Return the Celery worker for long tasks that can wait: re-embedding, vector indexes, quality measurements."""
    command = [*_CELERY, "--pool", "threads", "--concurrency", "2", "--queues", "background"]
    return [*command, "--hostname", "background@%h"]


def web(*, host: str, port: int) -> list[str]:
    """Return the command that runs nginx and gunicorn."""
    return [sys.executable, "-m", "ragsite.run.web", f"{host}:{port}"]
