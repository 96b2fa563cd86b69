"""The commands of the two processes that make up a running product, next to PostgreSQL and Redis."""

import os
import sys
from pathlib import Path


def worker(*, folder: Path) -> list[str]:
    """One Celery worker with beat, a process for each core. Beat keeps its schedule in the folder."""
    command = [sys.executable, "-m", "celery", "-A", "ragsite", "worker", "--beat", "--loglevel", "info"]
    return [*command, "--concurrency", str(os.cpu_count() or 2), "--schedule", str(folder / "celerybeat-schedule")]


def web(*, host: str, port: int) -> list[str]:
    """gunicorn with threads: a stream or a slow upload does not keep short requests waiting."""
    command = [sys.executable, "-m", "gunicorn", "ragsite.wsgi", "--bind", f"{host}:{port}", "--preload"]
    command += ["--worker-class", "gthread", "--workers", "2", "--threads", "32"]
    return [*command, "--timeout", "120", "--graceful-timeout", "10", "--keep-alive", "15", "--no-control-socket"]
