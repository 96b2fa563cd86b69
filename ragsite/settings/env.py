"""Where the environment is read from."""

import os
from pathlib import Path

import environ

BASE_DIR = Path(__file__).resolve().parents[2]
DATA_DIR = Path(os.environ.get("RAGSITE_DATA") or BASE_DIR / "var" / "run").resolve()

env = environ.Env()
