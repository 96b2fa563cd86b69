"""The server's worker with short patience, and an application that reads what it is sent: for tests/test_serving.py."""

from collections.abc import Iterable
from typing import Any

from ragsite import serving

serving.ARRIVAL_SECONDS = 1
serving.STALL_SECONDS = 30
serving.SLOWEST = 10**9

Worker = serving.Worker


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    try:
        said = f"{environ['PATH_INFO']} {len(environ['wsgi.input'].read())}"
    except OSError:
        said = "broken off"
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(said)))])
    return [said.encode()]
