"""The gunicorn worker with short time limits, and an application that reads the request's body.

For tests/ragsite/test_gunicorn_worker.py.
"""

import os
from collections.abc import Iterable
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

from ragsite.run import gunicorn_worker

gunicorn_worker.ARRIVAL_SECONDS = int(os.environ.get("ARRIVAL_SECONDS", "1"))
gunicorn_worker.CLOSE_SECONDS = 2 * gunicorn_worker.ARRIVAL_SECONDS
gunicorn_worker.STALL_SECONDS = max(30, gunicorn_worker.ARRIVAL_SECONDS)
gunicorn_worker.MIN_BYTES_PER_SECOND = 10**9


class Worker(gunicorn_worker.Worker):
    """Serves an application without Django, and so checks no database."""

    def load_wsgi(self) -> None:
        ThreadWorker.load_wsgi(self)


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    try:
        text = f"{environ['PATH_INFO']} {len(environ['wsgi.input'].read())}"
    except OSError:
        text = "broken off"
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(text)))])
    return [text.encode()]
