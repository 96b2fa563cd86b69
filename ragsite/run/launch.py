"""`make run`: starts the whole product in the foreground, until Ctrl-C."""

import contextlib
import fcntl
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NoReturn

from ragsite.embedded import services
from ragsite.embedded.folder import EmbeddedError

from . import commands
from .greeting import greeting
from .local_processes import Children

HOST = "127.0.0.1"
PORT = int(os.environ.get("PORT") or 3080)
ADDRESS = f"http://{HOST}:{PORT}"
FOLDER = Path(os.environ.get("RAGSITE_DATA") or Path(__file__).parents[2] / "var" / "run").resolve()
LOGS = FOLDER / "logs"
# A slow machine is still ingesting while people already use the product.
_MAX_DEMO_SECONDS = 120
_MAX_READY_SECONDS = 60
_PROBE_TIMEOUT_SECONDS = 5
# The environment as the user set it, before this run adds variables.
_ORIGINAL_ENVIRONMENT = dict(os.environ)


class StopRequested(BaseException):
    """A signal asks the launcher to stop. Not an Exception, so that no handler swallows it."""


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _request_stop)
    os.umask(0o077)
    LOGS.mkdir(parents=True, exist_ok=True)
    lock = _lock_folder()
    children = Children(FOLDER / "children.json")
    try:
        children.stop_leftovers()
        _require_free_port()
        _start(children)
        _watch(children)
    except StopRequested:
        print("\nStopping …", flush=True)
    except EmbeddedError as error:
        _exit(str(error))
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        children.stop()
        services.stop(FOLDER)
        lock.close()
    print("Stopped. Your data is kept; `make run` brings it back.")


def _start(children: Children) -> None:
    started = time.monotonic()
    _print_step("PostgreSQL and Redis" if not os.environ.get("DATABASE_URL") else "services")
    os.environ.update(services.start(FOLDER, _ORIGINAL_ENVIRONMENT))
    os.environ.update({"RAG_LOCAL": "1", "RAGSITE_DATA": str(FOLDER), "SECRET_KEY": _secret_key()})
    # Allows a model on this machine (Ollama): the person who runs this is the operator.
    os.environ.setdefault("RAG_ALLOWED_PRIVATE_HOSTS", "localhost,127.0.0.1,::1")
    _write_environment()
    _print_step("static files and database schema")
    with _python("-m", "ragsite.run.migrate_and_collect", *_command_for_demo_data()) as lines:
        for line in lines:
            if line == commands.MIGRATED:
                _start_first(children)
            else:
                _print_step(line)
    _wait_until_ready(children)
    # Nobody waits for these.
    children.start("background", commands.background(), log=LOGS / "background.log")
    children.start("scheduler", commands.scheduler(folder=FOLDER), log=LOGS / "scheduler.log")
    seconds = time.monotonic() - started
    print(greeting(ADDRESS, LOGS, seconds, has_demo=_wants_demo_data(), has_operator=_has_own_database()), flush=True)


def _start_first(children: Children) -> None:
    """Start what the first question and the first document need."""
    _print_step("workers and web server")
    children.start("web", commands.web(host=HOST, port=PORT), log=LOGS / "web.log")
    children.start("worker", commands.worker(), log=LOGS / "worker.log")
    if _wants_demo_data():
        _print_step("demo data (up to half a minute the first time)")


def _command_for_demo_data() -> list[str]:
    """Return the option that creates the demo data after the migrations; empty if it is not wanted."""
    if not _wants_demo_data():
        return []
    command = ["demo", "--skip-checks", f"--wait={_MAX_DEMO_SECONDS}", "--verbosity=0"]
    return ["--then", *command, *(["--operator"] if _has_own_database() else [])]


@contextlib.contextmanager
def _python(*arguments: str) -> Iterator[Iterator[str]]:
    """Run Python with these arguments, and give the lines that it prints. If it fails, end with the reason."""
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, stderr=errors, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            yield (line.rstrip() for line in process.stdout)
        except BaseException:
            process.kill()
            raise
        if process.wait():
            errors.seek(0)
            lines = errors.read().strip().splitlines() or ["no reason given"]
            reason = re.sub(r"^\?: \(\w+\.\w+\) ", "", lines[-1])  # the id of a failed system check
            _exit(f"`python {' '.join(arguments[:2])}` failed: {reason}")


def _wait_until_ready(children: Children) -> None:
    deadline = time.monotonic() + _MAX_READY_SECONDS
    while time.monotonic() < deadline:
        children.require_running()
        try:
            with urllib.request.urlopen(f"{ADDRESS}/readyz", timeout=_PROBE_TIMEOUT_SECONDS):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    _exit(f"The web server did not become ready within a minute; see {LOGS}/web.log.")


def _watch(children: Children) -> None:
    """Restart processes that end: a server that was killed, a worker that lost its broker."""
    while True:
        time.sleep(1)
        if not services.is_running(FOLDER, _ORIGINAL_ENVIRONMENT):
            services.start(FOLDER, _ORIGINAL_ENVIRONMENT)
        for name in children.restart_ended():
            print(f"The {name} process ended and was restarted; see {LOGS}/{name}.log.", flush=True)


def _lock_folder() -> IO[str]:
    """Allow one run per folder. The kernel releases the lock of a killed run, so that it is never stale."""
    lock = open(FOLDER / "run.lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _exit(f"ragsite already runs from this folder ({FOLDER}). Stop it with Ctrl-C in its terminal.")
    return lock


def _require_free_port() -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, PORT))
        except OSError:
            _exit(f"Port {PORT} is taken by another program. Stop it, or choose another port: PORT={PORT + 1} make run")


def _secret_key() -> str:
    """Create the key once, readable by its owner only, so that sessions and tokens survive a restart."""
    if secret_key := os.environ.get("SECRET_KEY"):
        return secret_key
    file = FOLDER / "secret-key"
    if not file.exists():
        _write_private(file, secrets.token_urlsafe(64))
    return file.read_text()


def _write_environment() -> None:
    """Store what `manage.py` needs in another terminal."""
    names = ("SECRET_KEY", "DATABASE_URL", "REDIS_URL", "RAG_LOCAL", "RAG_ALLOWED_PRIVATE_HOSTS")
    _write_private(FOLDER / "local.env", "".join(f"{name}={os.environ[name]}\n" for name in names))


def _write_private(file: Path, content: str) -> None:
    partial = file.with_name(file.name + ".partial")
    partial.unlink(missing_ok=True)
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(content)
    partial.replace(file)


def _wants_demo_data() -> bool:
    """Return whether to create the demo accounts, whose password is known.

    They are created in the embedded database; in another one only if RAG_DEMO is set.
    """
    return _has_own_database() or _ORIGINAL_ENVIRONMENT.get("RAG_DEMO") == "1"


def _has_own_database() -> bool:
    """Return whether the database is the embedded one. Only there the demo has a superuser."""
    return not _ORIGINAL_ENVIRONMENT.get("DATABASE_URL")


def _print_step(description: str) -> None:
    print(f"  · {description}", flush=True)


def _request_stop(*_: object) -> NoReturn:
    raise StopRequested


def _exit(sentence: str) -> NoReturn:
    sys.exit(f"\n{sentence}")


if __name__ == "__main__":
    main()
