"""make abuse: runs the product under faults, slow clients, floods and oversized requests, and prints a table.

The exit status is 1 if a promise was broken. ABUSE_SCENARIOS names the scenarios to run (those in scenarios.py),
separated by commas; default: all. ABUSE_SECONDS is the minimum duration of each fault (default 6). ABUSE_REPORT names
a file for the figures as JSON. ABUSE_CONNECTIONS is the number of hostile connections (default 500).
"""

import dataclasses
import json
import os
import signal
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django

from ragsite.postgres import identity
from tests.support.servers.provider_server import ProviderServer

from .installation import Product

if TYPE_CHECKING:
    from .scenarios import Row

# Parts that ingest nothing and so need no worker.
_SCENARIOS_WITHOUT_WORKER = {
    "oversized",
    "slow clients",
    "60 wait for a model",
    "expensive requests",
    "hostile connections",
    "hostile and expensive",
}


class Model(ProviderServer):
    """A provider without a traceback for each client that closes its connection."""

    def __init__(self) -> None:
        super().__init__()
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]


def main(folder: Path) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # leave the contexts below, which end what they started
    started_at = time.monotonic()
    names = [name for name in os.environ.get("ABUSE_SCENARIOS", "").split(",") if name]
    needs_worker = not names or not set(names) <= _SCENARIOS_WITHOUT_WORKER
    with (
        Model().running() as embeddings,
        Model().running() as language_model,
        Product(folder, embeddings=embeddings, language_model=language_model, has_worker=needs_worker) as product,
    ):
        identity.run_process_as(identity.WORKER)
        django.setup()
        from .scenarios import run

        print(f"product started: {time.monotonic() - started_at:.0f} s", flush=True)
        rows = run(product, names=names, seconds=float(os.environ.get("ABUSE_SECONDS", "6")))
    failed = sum(not row.is_good for row in rows)
    print(f"{time.monotonic() - started_at:.0f} s; {failed} of {len(rows)} scenarios broke a promise")
    if path := os.environ.get("ABUSE_REPORT"):
        # dataclasses.asdict cannot copy a Counter.
        figures = [{**dataclasses.asdict(dataclasses.replace(row, broken=Counter())), **_verdict(row)} for row in rows]
        Path(path).write_text(json.dumps(figures))
    return 0 if rows and all(row.is_good for row in rows) else 1


def _verdict(row: "Row") -> dict[str, Any]:
    return {"broken": dict(row.broken), "is_good": row.is_good}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
