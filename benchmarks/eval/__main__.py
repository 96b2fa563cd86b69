"""make eval: runs every evaluation set through the product, in every retrieval mode.

EVAL_SETS names the folder of the sets, OUT the JSON file for the figures. EVAL_KINDS names the kinds to measure, by
default all. Whole answers are also measured with the language model of LLM_MODEL; EVAL_LANGUAGE_MODEL=stub starts one
on loopback that repeats passages. Data is kept in RAGSITE_DATA, so that unchanged documents are not embedded again.
"""

import functools
import os
import sys
import time
from pathlib import Path

from benchmarks.support import language_model
from benchmarks.support.set_up import set_up_django

ROOT = Path(__file__).parents[2]
INCLUDED_SETS = Path(__file__).parent / "own"
# Larger sets, beside the repository.
SHARED_SETS = ROOT.parent / "shared" / "datasets"


def main() -> int:
    if os.environ.get("EVAL_LANGUAGE_MODEL") != language_model.NAME:
        return evaluate()
    with language_model.running() as base_url:
        os.environ |= {"LLM_MODEL": language_model.NAME, "LLM_BASE_URL": base_url, "LLM_API_KEY": "stub"}
        return evaluate()


def evaluate() -> int:
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    os.environ["RAG_GROUNDING"] = "local"  # so that figures do not depend on a language model
    set_up_django()
    from django.core.management import call_command
    from rich.console import Console

    from benchmarks.eval.reporting import plots, report
    from benchmarks.eval.runner import run
    from ragsite.postgres.base import run_as_owner

    console = Console(highlight=False, soft_wrap=not sys.stdout.isatty(), width=None if sys.stdout.isatty() else 150)
    folder = chosen_folder()
    if not folder.is_dir():
        console.print(f"There is no folder {folder}: name one with EVAL_SETS=<folder>.", style="red", markup=False)
        return 2
    data = Path(os.environ["RAGSITE_DATA"])
    out = Path(os.environ.get("OUT") or data / "figures.json").absolute()
    started = time.monotonic()
    with run_as_owner():  # of the tables, which an earlier run may have created
        call_command("migrate", verbosity=0)
    figures = run.everything(folder, out, functools.partial(console.print, markup=False), chosen_kinds())
    figures["seconds"]["all"] = time.monotonic() - started
    figures.write()
    with figures.part("report"):
        report.show(console, figures.all)
        plots.draw(figures, data / "plots")
        (data / "figures.md").write_bytes(report.as_markdown(figures.all).encode(errors="replace"))
    console.print(f"{out} has all figures, {data} has figures.md and plots", markup=False)
    return 0 if run.has_figures(figures) else 1


def chosen_folder() -> Path:
    if folder := os.environ.get("EVAL_SETS"):
        return Path(folder).expanduser().absolute()
    return SHARED_SETS if SHARED_SETS.is_dir() else INCLUDED_SETS


def chosen_kinds() -> frozenset[str]:
    """Return the kinds of sets to measure; empty for all."""
    return frozenset(os.environ.get("EVAL_KINDS", "").replace(",", " ").split())


if __name__ == "__main__":
    sys.exit(main())
