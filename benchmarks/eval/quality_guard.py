"""make guard: compares the quality on the project's small sets with the figures in guard.json.

It fails if a figure has fallen by more than 0.01. Of one set, the stub language model writes answers too, of which
every fourth has an invention: there a larger share of kept citations is a fault as well. RENEW=1 stores today's
figures instead.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.support import language_model
from benchmarks.support.set_up import set_up_django

INCLUDED_SETS = Path(__file__).parent / "own"
KEPT = Path(__file__).parent / "guard.json"
TOLERANCE = 0.01
_GUARDED = frozenset({"ndcg10", "recall10", "recall", "auc", "passed", "facts", "readable", "refused"})
# Figures of the answers that the stub language model writes; the second one must neither fall nor rise.
_GUARDED_OF_MODEL = frozenset({"facts", "citations_kept", "refused"})
_CONSTANT = "citations_kept"
_MODEL_SETS = ("held-out",)
_KINDS = ("retrieval", "chunking", "groundability", "answer_grounding", "answers", "documents")


def main() -> int:
    with language_model.running() as base_url:
        os.environ |= {"LLM_MODEL": language_model.NAME, "LLM_BASE_URL": base_url, "LLM_API_KEY": "stub"}
        return compare()


def compare() -> int:
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    os.environ["RAG_GROUNDING"] = "local"
    set_up_django()
    from django.core.management import call_command

    from benchmarks.eval.runner import run
    from ragsite.postgres.base import run_as_owner

    with run_as_owner():  # of the tables, which an earlier run may have created
        call_command("migrate", verbosity=0)
    figures = run.everything(
        INCLUDED_SETS, Path(os.environ["RAGSITE_DATA"]) / "guard.json", lambda line: None, model_sets=_MODEL_SETS
    )
    for failure in figures["failures"]:
        print(f"{failure['set']} could not be measured: {failure['error']}")
    if figures["failures"]:
        return 1
    measured = dict(guarded({kind: figures[kind] for kind in _KINDS}))
    if os.environ.get("RENEW"):
        KEPT.write_text(json.dumps({name: round(value, 4) for name, value in measured.items()}, indent=1) + "\n")
        print(f"{KEPT} has today's figures.")
        return 0
    fallen = describe_falls(json.loads(KEPT.read_text()), measured)
    for line in fallen:
        print(line)
    if fallen:
        print("Quality has fallen. If that is intended, say why in the commit and run: make guard RENEW=1")
    else:
        print(f"{len(measured)} quality figures have not fallen.")
    return 1 if fallen else 0


def guarded(figures: dict[str, Any], path: str = "") -> Iterator[tuple[str, float]]:
    """Yield (name, value) of every guarded figure: ("retrieval/house/dense/ndcg10", 0.9)."""
    for name, value in figures.items():
        where = f"{path}/{name}" if path else name
        if isinstance(value, dict):
            yield from guarded(value, where)
        elif name in (_GUARDED_OF_MODEL if path.endswith("/model") else _GUARDED) and value is not None:
            yield where, float(value)


def describe_falls(stored: dict[str, float], measured: dict[str, float]) -> list[str]:
    """A sentence for each stored figure that is missing, has fallen by more than the tolerance, or must not rise."""
    sentences = []
    for name, before in stored.items():
        value = measured.get(name)
        if value is None:
            sentences.append(f"{name} was {before:.4f} and is not measured any more.")
        elif value < before - TOLERANCE - 1e-9:
            sentences.append(f"{name} was {before:.4f} and is {value:.4f}.")
        elif name.endswith(f"/{_CONSTANT}") and value > before + TOLERANCE + 1e-9:
            sentences.append(f"{name} was {before:.4f} and is {value:.4f}: are unsupported sentences kept?")
    return sentences


if __name__ == "__main__":
    sys.exit(main())
