"""A peer in a process of its own environment, asked line by line."""

import json
import os
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

# Nothing is loaded from a network.
_OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "ANONYMIZED_TELEMETRY": "False"}
_END_SECONDS = 10


class PeerProcess:
    def __init__(self, name: str, *, python: Path, folder: Path, model: Path, database: str) -> None:
        self.name, self._log = name, folder / f"{name}.log"
        self._command = [str(python), "-m", "benchmarks.peers.stores", name, str(folder), str(model), database]

    def __enter__(self) -> Self:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with open(self._log, "w") as log:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                env={**os.environ, **_OFFLINE},
            )  # fmt: skip
        try:
            self._read()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._end()

    def _end(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def pid(self) -> int:
        return self._process.pid

    def ask(self, action: str, **arguments: Any) -> Any:
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"do": action, **arguments}) + "\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> Any:
        assert self._process.stdout
        if line := self._process.stdout.readline():
            return json.loads(line)
        raise RuntimeError(f"{self.name} ended; {self._log} says why.")
