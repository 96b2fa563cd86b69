"""make fuzz: sends generated requests to every operation of the schema with schemathesis, as two users.

The server is gunicorn on the embedded services, on loopback, without rate limits. First come the examples and the
bounds of each field, a fixed number of requests. Then come random requests and sequences of requests, for FUZZ_SECONDS
(default 120) for each user and with FUZZ_EXAMPLES (default 50) for each operation. The exit status is 1 if anything
failed. The reports are in $RAGSITE_DATA.
"""

import json
import os
import subprocess
import sys
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import django

from benchmarks.support.server import Server, free_port
from ragsite.postgres import identity
from tests.support.data.database import delete_all_rows

CONFIG = Path(__file__).with_name("schemathesis.toml")
# Phases, and whether FUZZ_SECONDS limits them. In a single run, schemathesis would give the first two phases a fifth of
# the time and skip what it does not finish.
PHASES = {"examples,coverage": False, "fuzzing,stateful": True}


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    os.environ["RAG_RATE_LIMITS"] = "off"
    identity.run_process_as(identity.WORKER)
    django.setup()
    folder = Path(os.environ["RAGSITE_DATA"])
    with Server(folder, free_port(), worker=False) as server:
        delete_all_rows()
        emails = _create_world()
        results = [
            _run(server.address, folder / f"fuzz-{name}-{phases}.json", email, phases)
            for name, email in emails.items()
            for phases in PHASES
        ]
    operations = max(result.operations for result in results)
    examples, failures = sum(result.examples for result in results), sum(result.failures for result in results)
    print(f"{operations} operations, {examples} examples, {failures} failures")
    return 1 if any(result.has_failed for result in results) else 0


@dataclass(frozen=True)
class Result:
    operations: int
    examples: int
    failures: int
    has_failed: bool


def _create_world() -> dict[str, str]:
    """Create the tests' world with one document; return the email addresses of two users by name."""
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
    # hooks.py has accepts_valid_data instead, which knows the rules that JSON Schema cannot express.
    command += ["--checks", "all", "--exclude-checks", "positive_data_acceptance"]
    command += ["--phases", phases, "--max-examples", os.environ.get("FUZZ_EXAMPLES", "50"), "--workers", "1"]
    command += ["--max-time", os.environ.get("FUZZ_SECONDS", "120")] if PHASES[phases] else []
    command += ["--report", "json", "--report-json-path", str(report)]
    print(f"{phases} as {email}:", flush=True)
    # The token is configured for the security scheme, not as a header, so that wrong credentials are tried as well.
    code = subprocess.run(command, env={**os.environ, "FUZZ_TOKEN": _token(address, email)}).returncode
    if not report.exists():
        sys.exit("schemathesis wrote no report; its output is above")
    figures = json.loads(report.read_text())
    operations, cases = figures["operations"], figures["test_cases"]
    has_failed = code != 0 or operations["tested"] < operations["total"]
    return Result(operations["tested"], cases["generated"], cases["unique_failures"] + cases["errored"], has_failed)


if __name__ == "__main__":
    sys.exit(main())
