"""make abuse: the running product under faults, slow clients, a flood and oversized requests; one table, and 1 at the
end if a promise was broken.

ABUSE_PARTS: names of parts (tests/system/abuse/parts.py) with commas between them, all by default. ABUSE_SECONDS
(6): how long
each fault lasts at least.
ABUSE_REPORT: a file for the figures as JSON.
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
from tests.support.provider_server import ProviderServer

from .product import Product

if TYPE_CHECKING:
    from .parts import Row


class Model(ProviderServer):
    def __init__(self) -> None:
        super().__init__()
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]


def main(folder: Path) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended
    begun = time.monotonic()
    wanted = [name for name in os.environ.get("ABUSE_PARTS", "").split(",") if name]
    workers = not wanted or not set(wanted) <= {"oversized", "slow clients", "60 wait for a model"}
    with (
        Model().running() as embeddings,
        Model().running() as language_model,
        Product(folder, embeddings=embeddings, language_model=language_model, workers=workers) as product,
    ):
        identity.run_process_as(identity.WORKER)
        django.setup()
        from .parts import run

        print(f"a product of its own: {time.monotonic() - begun:.0f} s", flush=True)
        rows = run(product, wanted=wanted, seconds=float(os.environ.get("ABUSE_SECONDS", "6")))
    print(f"{time.monotonic() - begun:.0f} s; {sum(not row.good for row in rows)} of {len(rows)} parts broke a promise")
    if path := os.environ.get("ABUSE_REPORT"):
        # A counter is no field that asdict can copy.
        figures = [{**dataclasses.asdict(dataclasses.replace(row, broken=Counter())), **_broken(row)} for row in rows]
        Path(path).write_text(json.dumps(figures))
    return 0 if rows and all(row.good for row in rows) else 1


def _broken(row: "Row") -> dict[str, Any]:
    return {"broken": dict(row.broken), "good": row.good}


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
