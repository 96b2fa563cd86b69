"""make chaos: ingestion under real faults beside an undisturbed run; ends with 1 if a document was lost or doubled.

First every stage of a document's way once, then rounds of random faults for CHAOS_SECONDS (120; 0 for none), chosen by
CHAOS_SEED (printed). CHAOS_REPORT: a file for the figures as JSON.
"""

import dataclasses
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import django

from ragsite.postgres import identity

from .endpoint import Endpoint
from .site import Site

if TYPE_CHECKING:
    from .run import Report


def main(folder: Path) -> int:
    seed = int(os.environ.get("CHAOS_SEED") or random.randrange(1_000_000))
    print(f"CHAOS_SEED={seed}", flush=True)
    begun = time.monotonic()
    with Endpoint().running() as endpoint, Site(folder) as site:
        assert isinstance(endpoint, Endpoint)
        subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity=0"], check=True)
        identity.run_process_as(identity.WORKER)
        django.setup()
        print(f"a product of its own: {time.monotonic() - begun:.0f} s", flush=True)
        from .run import Report, Run
        from .stages import inject_all
        from .storm import storm

        report = Report()
        precise = Run(site, endpoint, "stages")
        inject_all(precise)
        _print("Every stage", precise.report)
        report.add(precise.report)
        if seconds := float(os.environ.get("CHAOS_SECONDS", "120")):
            random_faults = storm(site, endpoint, seconds=seconds, seed=seed)
            _print("Random faults", random_faults)
            report.add(random_faults)
    print(f"{time.monotonic() - begun:.0f} s")
    if path := os.environ.get("CHAOS_REPORT"):
        # A counter is no field that asdict can copy.
        own = {"faults": dict(report.faults), "mixtures": sorted(report.mixtures)}
        figures = {**dataclasses.asdict(dataclasses.replace(report, faults=Counter())), **own}
        Path(path).write_text(json.dumps(figures))
    return 0 if report.good else 1


def _print(title: str, report: "Report") -> None:
    verdict = report.verdict
    print(f"\n{title}: {sum(report.faults.values())} faults")
    for name, count in sorted(report.faults.items()):
        print(f"  {count:4}  {name}")
    print(
        f"  documents {verdict.documents}, lost {len(verdict.lost)}, doubled {len(verdict.doubled)}, "
        f"different {len(verdict.different)}, rows to spare {verdict.spare}, unfinished {report.unfinished}; "
        f"{report.snapshots} snapshots, mixtures {len(report.mixtures)}",
        flush=True,
    )
    for name, paths in (("lost", verdict.lost), ("doubled", verdict.doubled), ("different", verdict.different)):
        if paths:
            print(f"  {name}: {', '.join(paths[:10])}")
    if report.mixtures:
        print(f"  mixtures: {', '.join(sorted(report.mixtures)[:10])}")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
