"""make fuzz: schemathesis over every operation of the schema, against the real server, as two people.

gunicorn on the embedded services, loopback only, without rate limits. First each bound of each field, which are so many
and no more; then requests at random and sequences of them, for FUZZ_SECONDS (120) for each person, FUZZ_EXAMPLES (50)
to an operation. Ends with 1 if anything failed; reports are in $RAGSITE_DATA.
"""

import json
import os
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import django

from benchmarks.__main__ import free_port
from benchmarks.support.server import Server
from ragsite.postgres import identity
from tests.support.database import delete_all_rows

CONFIG = Path(__file__).with_name("schemathesis.toml")
# schemathesis would give the first two a fifth of the time, and skip what they do not get done in it.
PHASES = {"examples,coverage": False, "fuzzing,stateful": True}


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    os.environ["RAG_RATE_LIMITS"] = "off"
    identity.run_process_as(identity.WORKER)
    django.setup()
    folder = Path(os.environ["RAGSITE_DATA"])
    with Server(folder, free_port(), worker=False) as server:
        delete_all_rows()
        emails = _world()
        results = [
            _run(server.address, folder / f"fuzz-{name}-{phases}.json", email, phases)
            for name, email in emails.items()
            for phases in PHASES
        ]
    operations = max(each.operations for each in results)
    examples, failures = sum(each.examples for each in results), sum(each.failures for each in results)
    print(f"{operations} operations, {examples} examples, {failures} failures")
    return 1 if any(each.failed for each in results) else 0


@dataclass(frozen=True)
class Result:
    operations: int
    examples: int
    failures: int
    failed: bool


def _world() -> dict[str, str]:
    """The tests' world, with something to find."""
    from tests.support.factories import World, ingest_text

    world = World.create()
    ingest_text(world.source("library"), "zebra", "Zebras have stripes.", title="Zebras")
    return {name: world.users[name].email for name in ("owner", "member")}


def _token(address: str, email: str) -> str:
    from tests.support.factories import PASSWORD

    body = json.dumps({"email": email, "password": PASSWORD}).encode()
    request = urllib.request.Request(f"{address}/api/auth/token", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return str(json.load(response)["access"])


def _run(address: str, report: Path, email: str, phases: str) -> Result:
    report.unlink(missing_ok=True)
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIG), "run"]
    command += [f"{address}/api/schema"]
    # In its place: accepts_what_it_promises (hooks.py), which knows the rules that JSON Schema cannot say.
    command += ["--checks", "all", "--exclude-checks", "positive_data_acceptance"]
    command += ["--phases", phases, "--max-examples", os.environ.get("FUZZ_EXAMPLES", "50"), "--workers", "1"]
    command += ["--max-time", os.environ.get("FUZZ_SECONDS", "120")] if PHASES[phases] else []
    command += ["--report", "json", "--report-json-path", str(report)]
    print(f"{phases} as {email}:", flush=True)
    # By its scheme and not as a header of every request: so that wrong credentials can be tried as well.
    code = subprocess.run(command, env={**os.environ, "FUZZ_TOKEN": _token(address, email)}).returncode
    if not report.exists():
        sys.exit("schemathesis gave no report; its words are above")
    found = json.loads(report.read_text())
    operations, cases = found["operations"], found["test_cases"]
    failed = code != 0 or operations["tested"] < operations["total"]
    return Result(operations["tested"], cases["generated"], cases["unique_failures"] + cases["errored"], failed)


if __name__ == "__main__":
    sys.exit(main())
