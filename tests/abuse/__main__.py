"""make abuse: the running product under faults, slow clients, a flood and oversized requests; one table, and 1 at the
end if a promise was broken.

ABUSE_FAULTS: names of faults with commas between them, all by default. ABUSE_SECONDS (6): how long each lasts.
ABUSE_REPORT: a file for the figures as JSON.
"""

import dataclasses
import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import django

from tests.provider_server import ProviderServer

from .product import Product

if TYPE_CHECKING:
    from .under_faults import Figures


class Model(ProviderServer):
    def __init__(self) -> None:
        super().__init__()
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign,assignment]


def main(folder: Path) -> int:
    begun = time.monotonic()
    with (
        Model().running() as embeddings,
        Model().running() as language_model,
        Product(folder, embeddings=embeddings, language_model=language_model) as product,
    ):
        django.setup()
        from .faults import FAULTS
        from .under_faults import strike
        from .world import people

        print(f"a product of its own: {time.monotonic() - begun:.0f} s", flush=True)
        everybody = people(6, embeddings=embeddings.base_url)
        wanted = [name for name in os.environ.get("ABUSE_FAULTS", "").split(",") if name] or list(FAULTS)
        seconds = float(os.environ.get("ABUSE_SECONDS", "6"))
        figures = []
        for name in wanted:
            figures.append(strike(product, everybody, name, FAULTS[name], calm=3, seconds=seconds))
            _print(figures[-1])
    print(f"{time.monotonic() - begun:.0f} s")
    if path := os.environ.get("ABUSE_REPORT"):
        Path(path).write_text(json.dumps([dataclasses.asdict(each) for each in figures]))
    return 0 if all(each.good for each in figures) else 1


def _print(figures: "Figures") -> None:
    found = figures.findings
    recovery = "never" if figures.recovery is None else f"{figures.recovery:.1f} s"
    print(
        f"{figures.name:26} requests {figures.requests:5}  success {figures.success:5}  contract's error "
        f"{figures.errors:4}  broken {sum(figures.broken.values()):3}  slowest {figures.slowest:4.1f} s  last error "
        f"{figures.last_error:4.1f} s  all by {recovery:>7}  acknowledged {found.acknowledged:4}  lost {len(found.lost)}  doubled {len(found.doubled)}  "
        f"torn {len(found.torn)}  unfinished {figures.unfinished}  revived {figures.revived}",
        flush=True,
    )
    for why, count in figures.broken.most_common(12):
        print(f"    {count:4}  {why}")
    for name in [*found.lost, *found.doubled, *found.torn][:10]:
        print(f"    {name}")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
