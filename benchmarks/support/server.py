"""Runs the product's processes while a benchmark runs."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

from ragsite.run import commands
from ragsite.run.local_processes import Children


def free_port() -> int:
    """Return a port of loopback that no process uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    def __init__(self, folder: Path, port: int, *, worker: bool = True, settings: str = "") -> None:
        """`settings` names the web server's settings module, if it is not the product's."""
        self.address = f"http://127.0.0.1:{port}"
        self._folder, self._port, self._worker, self._settings = folder, port, worker, settings
        self._children = Children(folder / "children.json")

    def __enter__(self) -> Self:
        for command in (["migrate", "--verbosity=0"], ["collectstatic", "--noinput", "--verbosity=0"]):
            subprocess.run([sys.executable, "manage.py", *command], check=True)
        self._children.stop_leftovers()
        if self._worker:
            self._children.start("worker", commands.worker(), log=self._folder / "worker.log")
            self._children.start("background", commands.background(), log=self._folder / "background.log")
            scheduler = commands.scheduler(folder=self._folder)
            self._children.start("scheduler", scheduler, log=self._folder / "scheduler.log")
        web = commands.web(host="127.0.0.1", port=self._port)
        if self._settings:
            web = ["env", f"DJANGO_SETTINGS_MODULE={self._settings}", *web]
        self._children.start("web", web, log=self._folder / "web.log")
        deadline = time.monotonic() + 60
        while not self._ready():
            self._children.require_running()
            if time.monotonic() > deadline:
                sys.exit(f"the server did not become ready; see {self._folder}/web.log")
            time.sleep(0.1)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._children.stop()

    def _ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/readyz", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False
