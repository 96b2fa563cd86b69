"""The commands of the four processes that make up a running product, next to PostgreSQL and Redis."""

import os
import sys
from pathlib import Path

_CELERY = [sys.executable, "-m", "celery", "-A", "ragsite", "worker", "--loglevel", "info"]


def worker() -> list[str]:
    """A Celery worker for documents, a process for each core."""
    return [*_CELERY, "--concurrency", str(os.cpu_count() or 2), "--queues", "ingestion", "--hostname", "ingestion@%h"]


def keeper(*, folder: Path) -> list[str]:
    """A second one with beat, for all that keeps the first going: it must never wait behind documents. Beat keeps its
    schedule in the folder."""
    command = [*_CELERY, "--pool", "threads", "--concurrency", "4", "--queues", "maintenance"]
    return [*command, "--hostname", "maintenance@%h", "--beat", "--schedule", str(folder / "celerybeat-schedule")]


def background() -> list[str]:
    """A third one for what takes long and can wait: re-embedding, building vector indexes, measuring quality."""
    command = [*_CELERY, "--pool", "threads", "--concurrency", "2", "--queues", "background"]
    return [*command, "--hostname", "background@%h"]


def web(*, host: str, port: int) -> list[str]:
    """gunicorn with threads: a stream or a slow upload does not keep short requests waiting, nor does a slow client.

    A connection of PostgreSQL for each thread, and those for long bodies: 64 in all (ragsite.run.gunicorn_worker)."""
    command = [sys.executable, "-m", "gunicorn", "ragsite.wsgi", "--bind", f"{host}:{port}", "--preload"]
    command += ["--worker-class", "ragsite.run.gunicorn_worker.Worker", "--workers", "2", "--threads", "24"]
    command += ["--worker-connections", "2000", "--backlog", "2048"]
    return [*command, "--timeout", "120", "--graceful-timeout", "10", "--keep-alive", "15", "--no-control-socket"]
