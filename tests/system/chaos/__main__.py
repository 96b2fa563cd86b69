"""make chaos: compares ingestion under faults with an undisturbed run; exit status 1 if a document was lost or doubled.

Injects one fault at every stage of ingestion, then rounds of random faults for CHAOS_SECONDS (default 120; 0 for none).
CHAOS_SEED (printed) chooses them. CHAOS_REPORT names a file for the figures as JSON. With CHAOS_STORE=qdrant searches
use Qdrant, which is down at times, and its points are compared too.
"""

import contextlib
import dataclasses
import json
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import django
from django.core.management import call_command
from django.db import connection

from ragsite.postgres import identity

from .embedding_endpoint import Endpoint
from .index import running_index
from .installation import Site

if TYPE_CHECKING:
    from .run import Report


def main(folder: Path) -> int:
    seed = int(os.environ.get("CHAOS_SEED") or random.randrange(1_000_000))
    print(f"CHAOS_SEED={seed}", flush=True)
    started_at = time.monotonic()
    with Endpoint().running() as endpoint, Site(folder) as site, running_index() as index:
        assert isinstance(endpoint, Endpoint)
        _migrate()
        identity.run_process_as(identity.WORKER)
        print(f"installation started: {time.monotonic() - started_at:.0f} s", flush=True)
        from .random_faults import inject_random_faults
        from .run import Report, Run
        from .stages import inject_all

        report = Report()
        if index:
            index.start_recording()
        with index.interrupted() if index else contextlib.nullcontext():
            precise = Run(site, endpoint, "stages")
            inject_all(precise)
            _print("Every stage", precise.report)
            report.add(precise.report)
            if seconds := float(os.environ.get("CHAOS_SECONDS", "120")):
                random_faults = inject_random_faults(site, endpoint, seconds=seconds, seed=seed)
                _print("Random faults", random_faults)
                report.add(random_faults)
        if index:
            site.kill_worker_and_scheduler()  # nobody else copies meanwhile
        verdict = index.judge() if index else None
        if verdict:
            print(f"Qdrant: {verdict.points} points, {verdict.wrong} wrong, {verdict.outages} outages", flush=True)
    print(f"{time.monotonic() - started_at:.0f} s")
    if path := os.environ.get("CHAOS_REPORT"):
        # dataclasses.asdict cannot copy a Counter.
        extra = {"faults": dict(report.faults), "mixed_versions": sorted(report.mixed_versions)}
        figures = {**dataclasses.asdict(dataclasses.replace(report, faults=Counter())), **extra}
        Path(path).write_text(json.dumps(figures))
    return 0 if report.is_good and (verdict is None or verdict.is_good) else 1


def _migrate() -> None:
    """Create the tables in this process: another start of Django would take seconds."""
    identity.run_process_as(identity.OWNER)
    django.setup()
    call_command("migrate", verbosity=0)
    connection.close()  # the next one belongs to the worker's identity


def _print(title: str, report: "Report") -> None:
    verdict = report.verdict
    print(f"\n{title}: {sum(report.faults.values())} faults")
    for name, count in sorted(report.faults.items()):
        print(f"  {count:4}  {name}")
    print(
        f"  documents {verdict.documents}, lost {len(verdict.lost)}, doubled {len(verdict.doubled)}, "
        f"different {len(verdict.different)}, surplus rows {verdict.surplus_rows}, unfinished {report.unfinished}; "
        f"{report.snapshots} snapshots, mixed versions {len(report.mixed_versions)}",
        flush=True,
    )
    for name, paths in (("lost", verdict.lost), ("doubled", verdict.doubled), ("different", verdict.different)):
        if paths:
            print(f"  {name}: {', '.join(paths[:10])}")
    if report.mixed_versions:
        print(f"  mixed versions: {', '.join(sorted(report.mixed_versions)[:10])}")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
