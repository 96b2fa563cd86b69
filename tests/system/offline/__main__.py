"""make offline: installs, starts and upgrades the product from release archives, without a network; else status 1.

The archives of an older commit (OFFLINE_FROM) and of the last one are built with a network. Everything else happens in
a network namespace that has only its loopback device: the older release is installed and started, gets documents and is
asked. Then the new one is installed and started on the same data, and must give the same answer. Needs a complete
clone, root and iproute2.
"""

import functools
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ragsite_client import Answer, Client, NewDocument

from tests.system.upgrade.versions import ROOT

from . import releases

# The first commit with a release that migrates: some before it have two last migrations.
_OLDEST_COMMIT = "2627a7c2"
_OWN_NETWORK = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
_MARKER = "OFFLINE_ARCHIVES"
_SOURCE, _QUESTION = "animals", "What do otters eat?"
_TEXTS = {"otters.md": "Otters eat fish and crabs.", "lions.md": "Lions sleep for twenty hours a day."}
# An address of the documentation (RFC 5737). Without a route, nothing is sent to it.
_OUTSIDE = ("192.0.2.1", 80)
Result = TypeVar("Result")


def main(folder: Path) -> int:
    if archives := os.environ.get(_MARKER):
        return _upgrade(folder, *map(Path, archives.split(":")))
    if reason := _missing():
        print(f"make offline is not possible here. {reason}", file=sys.stderr)
        return 1
    commits = [os.environ.get("OFFLINE_FROM", _OLDEST_COMMIT), _git("rev-parse", "--short", "HEAD")]
    paths = [_timed(f"build {commit}", functools.partial(releases.build, commit, folder)) for commit in commits]
    for path in paths:
        print(f"{path.name}: {path.stat().st_size:,} bytes", flush=True)
    command = [*_OWN_NETWORK, sys.executable, "-m", "tests.system.offline", str(folder)]
    return subprocess.run(command, env={**os.environ, _MARKER: ":".join(map(str, paths))}).returncode


def _missing() -> str:
    """Return what the machine does not have; empty if everything is there."""
    if os.geteuid() != 0:
        return "Only root may make network namespaces."
    if not shutil.which("unshare") or not shutil.which("ip"):
        return "Install util-linux and iproute2."
    attempt = subprocess.run([*_OWN_NETWORK, "true"], capture_output=True, text=True)
    if attempt.returncode:
        return f"The kernel makes no namespaces here: {attempt.stderr.strip()}"
    commit = os.environ.get("OFFLINE_FROM", _OLDEST_COMMIT)
    is_known = subprocess.run(["git", "cat-file", "-e", f"{commit}^{{commit}}"], cwd=ROOT, capture_output=True)
    return f"The history has no commit {commit}: use a complete clone." if is_known.returncode else ""


def _upgrade(folder: Path, old_archive: Path, new_archive: Path) -> int:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    _require_no_route()
    for name in ("data", "old", "new"):
        shutil.rmtree(folder / name, ignore_errors=True)
    old = releases.Installation(old_archive, folder / "old", folder / "data")
    new = releases.Installation(new_archive, folder / "new", folder / "data")
    answers: list[Answer] = []
    for name, installation in (("old", old), ("new", new)):
        _timed(f"{name}: install", installation.install)
        try:
            _timed(f"{name}: start", installation.start)
            with Client(installation.address, _access_token(installation.address)) as client:
                if name == "old":
                    client.create_source(_SOURCE)
                    job = client.ingest(_SOURCE, [NewDocument(path, text) for path, text in _TEXTS.items()])
                    client.wait(job, interval_seconds=0.2)
                answers.append(client.ask(_QUESTION, sources=[_SOURCE]))
        finally:
            installation.stop()
    before, after = answers
    print(f"before: {before.answer!r}\nafter: {after.answer!r}", flush=True)
    is_kept = before.is_groundable and "fish" in before.answer and before.answer == after.answer
    return 0 if is_kept and before.documents[0].path == after.documents[0].path else 1


def _require_no_route() -> None:
    try:
        socket.create_connection(_OUTSIDE, timeout=5).close()
    except OSError as error:
        print(f"network: {error.strerror}", flush=True)
        return
    raise RuntimeError("This namespace has a network.")


def _access_token(address: str) -> str:
    body = json.dumps({"email": "editor@acme.example", "password": "ragsite-demo"}).encode()
    request = urllib.request.Request(f"{address}/api/auth/token", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return str(json.load(response)["access"])


def _timed(name: str, step: Callable[[], Result]) -> Result:
    started = time.monotonic()
    result = step()
    print(f"{name}: {time.monotonic() - started:.0f} s", flush=True)
    return result


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
