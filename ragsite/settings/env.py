"""The environment, with the values that `make run` noted for this checkout below it.

`make run` writes DATA_DIR/local.env (secret key, addresses of the embedded services), so that `manage.py`
in a second terminal talks to the same database. A deployment has no such file; real variables always win.
"""

import os
from pathlib import Path

import environ

BASE_DIR = Path(__file__).resolve().parents[2]
DATA_DIR = Path(os.environ.get("RAGSITE_DATA") or BASE_DIR / "var" / "run").resolve()

env = environ.Env()
environ.Env.read_env(DATA_DIR / "local.env", overwrite=False)
