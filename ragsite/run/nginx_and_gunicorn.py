"""Runs nginx and gunicorn until SIGTERM. If one of them ends, stops the other and ends too.

python -m ragsite.run.nginx_and_gunicorn JSON: the arguments of `run` (ragsite.run.web).
"""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import FrameType


def run(*, nginx: list[str], gunicorn: list[str], stopping: Path, drain_seconds: float, stop_seconds: float) -> int:
    """Run both until a signal comes or one of them ends; return the exit status.

    After the first signal the server keeps working for `drain_seconds`, or until the second signal, but its health
    checks fail: the file `stopping` exists. Then each of both may take `stop_seconds` to end.
    """
    stop_requested: list[int] = []

    def request_stop(number: int, frame: FrameType | None) -> None:
        stop_requested.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, request_stop)
    servers = [subprocess.Popen(nginx, stdin=subprocess.DEVNULL), subprocess.Popen(gunicorn, stdin=subprocess.DEVNULL)]

    def is_running() -> bool:
        return all(server.poll() is None for server in servers)

    while not stop_requested and is_running():
        time.sleep(0.1)
    stopping.touch()
    last_moment = time.monotonic() + drain_seconds
    while len(stop_requested) == 1 and is_running() and time.monotonic() < last_moment:
        time.sleep(0.1)
    status = next((server.returncode for server in servers if server.returncode is not None), 0)
    # nginx first finishes the requests in progress, for which it needs gunicorn.
    for server, number in zip(servers, (signal.SIGQUIT, signal.SIGTERM), strict=True):
        server.send_signal(number)
        try:
            server.wait(stop_seconds + 2)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
    return 0 if stop_requested else status or 1


if __name__ == "__main__":
    arguments = json.loads(sys.argv[1])
    sys.exit(run(**{**arguments, "stopping": Path(arguments["stopping"])}))
