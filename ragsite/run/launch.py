"""make run: everything from nothing, in the foreground, until Ctrl-C."""

import fcntl
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, NoReturn

from ragsite.embedded import services
from ragsite.embedded.folder import EmbeddedError

from . import processes
from .children import Children

HOST = "127.0.0.1"
PORT = int(os.environ.get("PORT") or 3080)
ADDRESS = f"http://{HOST}:{PORT}"
FOLDER = Path(os.environ.get("RAGSITE_DATA") or Path(__file__).parents[2] / "var" / "run").resolve()
LOGS = FOLDER / "logs"
# As the person at the terminal set it, before this run adds its own.
_GIVEN = dict(os.environ)


class Stop(BaseException):
    """The person at the terminal has had enough. Not an Exception, so that no handler on the way swallows it."""


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _stop)
    os.umask(0o077)
    LOGS.mkdir(parents=True, exist_ok=True)
    lock = _only_one()
    children = Children(FOLDER / "children.json")
    children.end_leftovers()
    _require_free_port()
    try:
        _start(children)
        _watch(children)
    except Stop:
        print("\nStopping …", flush=True)
    except EmbeddedError as error:
        _give_up(str(error))
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        children.end()
        services.stop(FOLDER)
        lock.close()
    print("Stopped. Your data is kept; `make run` brings it back.")


def _start(children: Children) -> None:
    begun = time.monotonic()
    _step("PostgreSQL and Redis" if not os.environ.get("DATABASE_URL") else "services")
    os.environ.update(services.start(FOLDER, _GIVEN))
    os.environ.update({"RAG_LOCAL": "1", "RAGSITE_DATA": str(FOLDER), "SECRET_KEY": _secret_key()})
    # A model on this machine (Ollama) may be used: who runs this here is the operator.
    os.environ.setdefault("RAG_ALLOWED_PRIVATE_HOSTS", "localhost,127.0.0.1,::1")
    _note_environment()
    _step("database schema and static files")
    _manage("migrate", "--verbosity=0")
    _manage("collectstatic", "--noinput", "--verbosity=0")
    _step("workers and web server")
    children.start("worker", processes.worker(), log=LOGS / "worker.log")
    children.start("background", processes.background(), log=LOGS / "background.log")
    children.start("keeper", processes.keeper(folder=FOLDER), log=LOGS / "keeper.log")
    children.start("web", processes.web(host=HOST, port=PORT), log=LOGS / "web.log")
    demo = _has_demo()
    if demo:
        _step("demo data (the first time, a minute at most)")
        _manage("demo", "--wait", "--verbosity=0")
    _until_ready(children)
    print(_greeting(demo, time.monotonic() - begun), flush=True)


def _manage(*arguments: str) -> None:
    result = subprocess.run([sys.executable, "manage.py", *arguments], capture_output=True, text=True)
    if result.returncode:
        reason = (result.stderr.strip() or result.stdout.strip()).splitlines()
        _give_up(f"`manage.py {arguments[0]}` failed: {reason[-1] if reason else 'no reason given'}")


def _until_ready(children: Children) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        children.require_alive()
        try:
            with urllib.request.urlopen(f"{ADDRESS}/readyz", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    _give_up(f"The web server did not become ready within a minute; see {LOGS}/web.log.")


def _watch(children: Children) -> None:
    """Bring back what ends before it should: a server that was killed, a worker that lost its broker."""
    while True:
        time.sleep(1)
        if not services.alive(FOLDER, _GIVEN):
            services.start(FOLDER, _GIVEN)
        for name in children.revive():
            print(f"The {name} process had ended and was started again; {LOGS}/{name}.log says why.", flush=True)


def _only_one() -> IO[str]:
    """The kernel frees the lock of a killed run, so it is never stale."""
    lock = open(FOLDER / "run.lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        _give_up(f"ragsite already runs from this folder ({FOLDER}). Stop it with Ctrl-C in its terminal.")
    return lock


def _require_free_port() -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, PORT))
        except OSError:
            _give_up(f"Port {PORT} is taken by another program. Free it, or choose another: PORT={PORT + 1} make run")


def _secret_key() -> str:
    """Made once, kept readable by its owner only; sessions and tokens outlive a restart."""
    if given := os.environ.get("SECRET_KEY"):
        return given
    file = FOLDER / "secret-key"
    if not file.exists():
        _write_private(file, secrets.token_urlsafe(64))
    return file.read_text()


def _note_environment() -> None:
    """For `manage.py` in another terminal (ragsite/settings/env.py)."""
    names = ("SECRET_KEY", "DATABASE_URL", "REDIS_URL", "RAG_LOCAL", "RAG_ALLOWED_PRIVATE_HOSTS")
    _write_private(FOLDER / "local.env", "".join(f"{name}={os.environ[name]}\n" for name in names))


def _write_private(file: Path, content: str) -> None:
    partial = file.with_name(file.name + ".partial")
    partial.unlink(missing_ok=True)
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(content)
    partial.replace(file)


def _has_demo() -> bool:
    """Accounts with a known password are made in the embedded database, and in another one only when asked for."""
    return not _GIVEN.get("DATABASE_URL") or _GIVEN.get("RAG_DEMO") == "1"


def _step(what: str) -> None:
    print(f"  · {what}", flush=True)


def _stop(*_: object) -> NoReturn:
    raise Stop


def _give_up(sentence: str) -> NoReturn:
    sys.exit(f"\n{sentence}")


def _greeting(demo: bool, seconds: float) -> str:
    lines = [
        "",
        f"ragsite is running (ready after {seconds:.0f} s). Ctrl-C stops it.",
        f"  Admin     {ADDRESS}/admin/",
        f"  API       {ADDRESS}/api/docs lists and tries all endpoints",
        f"  Health    {ADDRESS}/readyz",
        f"  Logs      {LOGS}",
    ]
    if not demo:
        return "\n".join([*lines, "", "DATABASE_URL is set: no demo accounts were made (RAG_DEMO=1 makes them)."])
    password = os.environ.get("RAG_DEMO_PASSWORD") or "ragsite-demo"
    return "\n".join(
        [
            *lines,
            "",
            f"Demo accounts (password {password}):",
            "  owner@acme.example     owns acme, may open the admin",
            "  editor@acme.example    sends documents",
            "  member@acme.example    in the team support",
            "  member@globex.example  in another organisation",
            "",
            "Your first search, to paste into another terminal:",
            "",
            f"TOKEN=$(curl -s {ADDRESS}/api/auth/token -H 'Content-Type: application/json' \\",
            f'  -d \'{{"email": "member@acme.example", "password": "{password}"}}\' \\',
            "  | python3 -c 'import json, sys; print(json.load(sys.stdin)[\"access\"])')",
            f"curl -s {ADDRESS}/api/rag/search -H 'Content-Type: application/json' \\",
            '  -H "Authorization: Bearer $TOKEN" \\',
            '  -d \'{"query": "How do I send a document?", "topK": 3}\' | python3 -m json.tool',
            "",
        ]
    )


if __name__ == "__main__":
    main()
