"""make eval: runs every evaluation set through the product, in every retrieval mode.

EVAL_SETS names the folder of the sets, OUT the JSON file for the figures. Data is kept in RAGSITE_DATA, so that
unchanged documents are not embedded again.
"""

import functools
import os
import sys
import time
from pathlib import Path

import django

from ragsite.postgres import identity

ROOT = Path(__file__).parents[2]
OWN = Path(__file__).parent / "own"
BESIDE = ROOT.parent / "shared" / "datasets"


def main() -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    os.environ["RAG_GROUNDING"] = "local"  # so that figures do not depend on a language model
    identity.run_process_as(identity.WORKER)
    django.setup()
    from django.core.management import call_command
    from rich.console import Console

    from benchmarks.eval.reporting import plots, report
    from benchmarks.eval.runner import run

    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 150)
    folder = chosen_folder()
    if not folder.is_dir():
        console.print(f"There is no folder {folder}: name one with EVAL_SETS=<folder>.", style="red", markup=False)
        return 2
    data = Path(os.environ["RAGSITE_DATA"])
    out = Path(os.environ.get("OUT") or data / "figures.json").absolute()
    started = time.monotonic()
    call_command("migrate", verbosity=0)
    figures = run.everything(folder, out, functools.partial(console.print, markup=False))
    figures["seconds"]["all"] = time.monotonic() - started
    figures.write()
    with figures.part("report"):
        report.show(console, figures.all)
        plots.draw(figures, data / "plots")
        (data / "figures.md").write_bytes(report.as_markdown(figures.all).encode(errors="replace"))
    console.print(f"{out} has all figures, {data} has figures.md and plots", markup=False)
    return 0 if run.has_figures(figures) else 1


def chosen_folder() -> Path:
    if given := os.environ.get("EVAL_SETS"):
        return Path(given).expanduser().absolute()
    return BESIDE if BESIDE.is_dir() else OWN


if __name__ == "__main__":
    sys.exit(main())
