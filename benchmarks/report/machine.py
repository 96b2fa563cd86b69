"""The machine, versions and commit of a run."""

import datetime
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import psycopg

import ragsite

_ROOT = Path(__file__).parents[2]


def describe() -> dict[str, Any]:
    """Return what figures depend on. The database is asked for its versions."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": _commit(),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"),
            "load at the beginning": os.getloadavg()[0],
        },
        "versions": {"ragsite": ragsite.__version__, "Python": platform.python_version(), **_database_versions()},
    }


def _processor() -> str:
    """The processor's name, where Linux has it; otherwise its architecture."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _commit() -> str:
    """The commit, with a plus sign if files differ from it. Empty outside of a Git repository."""
    try:
        commit = _git("rev-parse", "--short=12", "HEAD")
        return commit + ("+" if _git("status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.CalledProcessError):
        return ""


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", *arguments], cwd=_ROOT, capture_output=True, text=True, check=True
    ).stdout.strip()  # fmt: skip


def _database_versions() -> dict[str, str]:
    with psycopg.connect(os.environ["DATABASE_URL"]) as session:
        cursor = session.execute(
            "SELECT split_part(current_setting('server_version'), ' ', 1), "
            "(SELECT default_version FROM pg_available_extensions WHERE name = 'vector')"
        )
        postgres, pgvector = cursor.fetchone() or ("", "")
    return {"PostgreSQL": postgres, "pgvector": pgvector or ""}
