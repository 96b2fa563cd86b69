"""make syncs: random edits of a folder are synced while workers are killed; exit status 1 if anything differs.

After each sync the source must equal the folder, unchanged chunks must have kept their rows, and nothing but new chunks
may have been embedded. SYNC_EDITS (default 1,000) edits are made, 40 for each sync; SYNC_SEED (printed) chooses them.
"""

import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path

import django

from ragsite.postgres import identity
from tests.system.chaos.embedding_endpoint import Endpoint
from tests.system.chaos.installation import Site

_EDITS_PER_SYNC = 40
_FILES = 150


def main(folder: Path) -> int:
    seed = int(os.environ.get("SYNC_SEED") or random.randrange(1_000_000))
    edits = int(os.environ.get("SYNC_EDITS", "1000"))
    print(f"SYNC_SEED={seed}", flush=True)
    started_at = time.monotonic()
    with Endpoint().running() as endpoint, Site(folder) as site:
        assert isinstance(endpoint, Endpoint)
        shared = folder / "shared"
        shared.mkdir()
        os.environ["RAG_SYNC_FOLDERS"] = json.dumps({"*": [str(shared)]})
        os.environ["RAG_TOKEN_SIGNATURES"] = "off"
        subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity=0"], check=True)
        identity.run_process_as(identity.WORKER)
        django.setup()
        from .folder import EditedFolder
        from .run import SyncedRun

        chance = random.Random(seed)
        run = SyncedRun(site, endpoint, EditedFolder(shared, chance, number=_FILES), chance)
        try:
            for _ in range(0, edits, _EDITS_PER_SYNC):
                run.sync_edits(_EDITS_PER_SYNC)
        finally:
            run.stop()
        print(run.report)
    print(f"{time.monotonic() - started_at:.0f} s")
    return 0 if run.report.is_good else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
