"""Builds the archive of a version, and runs the product from it with nothing of this environment."""

import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from tests.system.upgrade.versions import ROOT, free_port

_MAX_START_SECONDS = 300


def build(commit: str, folder: Path) -> Path:
    """Build the release of a commit with its own script, and return the archive. One that exists is used again."""
    archives = folder / commit
    if not (existing := sorted(archives.glob("*.tar.gz"))):
        code = folder / "code"
        shutil.rmtree(code, ignore_errors=True)
        _run("git", "clone", "--quiet", "--no-checkout", "--shared", ROOT, code)
        _run("git", "-C", code, "checkout", "--quiet", "--detach", commit)
        _run("./scripts/release", Path(sys.executable).parents[1], archives, cwd=code)
        existing = sorted(archives.glob("*.tar.gz"))
    return existing[0]


class Installation:
    """A release that is unpacked in a folder of its own. It knows nothing of this project's environment."""

    def __init__(self, archive: Path, folder: Path, data: Path) -> None:
        folder.mkdir(parents=True)
        _run("tar", "--extract", "--gzip", "--strip-components=1", "--file", archive, "--directory", folder)
        self.address = f"http://127.0.0.1:{free_port()}"
        self._folder, self._log = folder, folder / "run.log"
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),  # no package that was downloaded before
            "LANG": "C.UTF-8",
            "PORT": self.address.rpartition(":")[2],
            "RAGSITE_DATA": str(data),
        }
        (folder / "home").mkdir()
        self._process: subprocess.Popen[bytes] | None = None

    def install(self) -> None:
        """Install what `make run` needs."""
        python = f"PYTHON={sys.base_prefix}/bin/python3"
        _run("make", "--no-print-directory", "install-local", python, cwd=self._folder, env=self._environment)

    def start(self) -> None:
        """Start the product, and wait until it is ready."""
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                ["make", "--no-print-directory", "run"],
                cwd=self._folder,
                env=self._environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        deadline = time.monotonic() + _MAX_START_SECONDS
        while not self._is_ready():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"The product did not start: {self._log.read_text()[-2000:]}")
            time.sleep(0.2)

    def stop(self) -> None:
        """Stop the product like Ctrl-C in a terminal, which all its processes hear."""
        if self._process and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGINT)
            self._process.wait(120)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/readyz", timeout=5):
                return True
        except (urllib.error.URLError, OSError):
            return False


def _run(*command: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> None:
    subprocess.run([str(part) for part in command], cwd=cwd, env=env, check=True)
