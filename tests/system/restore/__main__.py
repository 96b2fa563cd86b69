"""make restore: a backup is restored on an empty server, which must give the same answers; else exit status 1.

The server has its own database cluster, file storage and Redis. RESTORE_DOCUMENTS (default 500) documents of all kinds
of sources are stored, and every person and key asks the same questions before and after. Then the access proofs
(`make prove`, PROVE_WORLDS random organisations) run on the restored database itself, without its rows.
"""

import os
import secrets
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psycopg

from ragsite.embedded import services

# The name under which pytest looks for an existing database.
_RESTORED = "test_ragsite"
_PROOFS = ["tests/access/rule", "tests/access/database/test_row_level_security.py"]


def main(folder: Path) -> int:
    shutil.rmtree(folder, ignore_errors=True)
    key = secrets.token_urlsafe(64)
    folders = {name: folder / name for name in ("first", "second")}
    environments = {}
    try:
        for name, data in folders.items():
            data.mkdir(parents=True)
            variables = services.start(data, superuser=True)
            settings = {"DJANGO_SETTINGS_MODULE": "ragsite.settings", "SECRET_KEY": key, "RAG_LOCAL": "1"}
            environments[name] = {**os.environ, **settings, **variables, "RAGSITE_DATA": str(data)}
        first, second = environments.values()
        with psycopg.connect(second["DATABASE_URL"], autocommit=True) as session:
            session.execute(f"CREATE DATABASE {_RESTORED}")
        proofs = {**second, "DJANGO_SETTINGS_MODULE": "ragsite.settings.test", "TEST_DATABASE_KEPT": "1"}
        second = {**second, "DATABASE_URL": second["DATABASE_URL"].replace("/ragsite?", f"/{_RESTORED}?")}
        archive, manage = folder / "ragsite.tar", "manage.py"
        run("migrate", first, manage, "migrate", "--verbosity=0")
        run("fill", first, "-m", "tests.system.restore.content", "fill", os.environ.get("RESTORE_DOCUMENTS", "500"))
        run("ask", first, "-m", "tests.system.restore.content", "ask", folder / "first.json")
        run("backup", first, manage, "backup", archive)
        run("restore", second, manage, "restore", archive)
        run("ask", second, "-m", "tests.system.restore.content", "ask", folder / "second.json")
        answers = [(folder / f"{name}.json").read_text() for name in folders]
        print(f"answers: {len(answers[0]):,} bytes of JSON, {'the same' if answers[0] == answers[1] else 'DIFFERENT'}")
        print(f"archive: {archive.stat().st_size:,} bytes", flush=True)
        run("empty", second, "-m", "tests.system.restore.content", "empty")
        run("prove", proofs, "-m", "pytest", "-q", "-p", "no:xdist", *_PROOFS)
        return int(answers[0] != answers[1])
    finally:
        for data in folders.values():
            services.stop(data)


def run(name: str, environment: dict[str, str], *arguments: object) -> None:
    started = time.monotonic()
    subprocess.run([sys.executable, *map(str, arguments)], env=environment, check=True)
    print(f"{name}: {time.monotonic() - started:.1f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
