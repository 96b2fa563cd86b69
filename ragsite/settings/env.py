"""The environment that settings are read from."""

import os
from pathlib import Path
from typing import Any

import environ

BASE_DIR = Path(__file__).resolve().parents[2]
DATA_DIR = Path(os.environ.get("RAGSITE_DATA") or BASE_DIR / "var" / "run").resolve()


class RecordingEnv(environ.Env):  # type: ignore[misc]  # untyped library
    """An environment that records which variables the settings read.

    Attributes:
        names: the variables read so far.
    """

    def __init__(self) -> None:
        super().__init__()
        # Read by the launcher (ragsite.run.launch), not by the settings.
        self.names = {"RAG_DEMO"}

    def get_value(self, var: str, *arguments: Any, **options: Any) -> Any:
        self.names.add(var)
        return super().get_value(var, *arguments, **options)


env = RecordingEnv()
