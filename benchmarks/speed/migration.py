"""Measures how long `manage.py migrate` takes in a new database, beside the same command when nothing is left to do."""

import os
import statistics
import subprocess
import sys
import time
from urllib.parse import urlsplit

import psycopg

from benchmarks.report import results

_MAX_SECONDS, _ROUNDS = 2.0, 3
_DATABASE = "bench_migration"


def measure(report: results.Results) -> None:
    """Report the medians of some rounds, each with a database of its own. The login may create databases."""
    url = os.environ["DATABASE_URL"]
    new_url = urlsplit(url)._replace(path=f"/{_DATABASE}").geturl()
    first, nothing_to_do = [], []
    with psycopg.connect(url, autocommit=True) as session:
        for _ in range(_ROUNDS):
            session.execute(f'DROP DATABASE IF EXISTS "{_DATABASE}"')
            session.execute(f'CREATE DATABASE "{_DATABASE}"')
            first.append(_migrate(new_url))
            nothing_to_do.append(_migrate(new_url))
        session.execute(f'DROP DATABASE "{_DATABASE}"')
    seconds, nothing = statistics.median(first), statistics.median(nothing_to_do)
    print(f"migration  new database {seconds:.2f} s, nothing to do {nothing:.2f} s", flush=True)
    report.add(
        "migration", "`manage.py migrate` in a new database", seconds, "s", limit=nothing,
        limit_name="nothing left to do", goal=results.at_most(_MAX_SECONDS),
    )  # fmt: skip


def _migrate(url: str) -> float:
    started = time.perf_counter()
    subprocess.run(
        [sys.executable, "manage.py", "migrate", "--verbosity=0"], env={**os.environ, "DATABASE_URL": url}, check=True
    )
    return time.perf_counter() - started
