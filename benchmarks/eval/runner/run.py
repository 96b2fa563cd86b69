"""All sets of a folder, one after the other; a set that fails is named, and the others are measured."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.eval.datasets import documents, kinds, sets, sizes
from benchmarks.eval.reporting.figures import Figures
from benchmarks.eval.runner import library
from benchmarks.eval.runner.workers import Crew


def everything(folder: Path, out: Path, say: Callable[[str], None]) -> Figures:
    figures = Figures(out, say)
    library.clear_away()
    with Crew() as crew:
        say(f"Sets of {folder}, {crew.size} processes")
        for name in sets.names(folder, sets.RETRIEVAL):
            with figures.part(f"retrieval/{name}"), _timed(figures, f"retrieval/{name}", say):
                _retrieval(folder, name, crew, figures)
        for name in sets.names(folder, sets.CHUNKING):
            with figures.part(f"chunking/{name}"), _timed(figures, f"chunking/{name}", say):
                found = sets.chunking(folder, name)
                shelf = library.shelve(folder, sets.CHUNKING, name, found.texts, crew)
                figures.note(f"chunking/{name}", {**found.notes, **shelf.notes})
                figures["chunking"][name] = kinds.chunking(found, shelf, crew)
        for name in sets.names(folder, sets.GROUNDABILITY):
            with figures.part(f"groundability/{name}"), _timed(figures, f"groundability/{name}", say):
                judged, shelf, notes = kinds.groundability(folder, name, crew)
                figures.note(f"groundability/{name}", {**notes, **shelf.notes})
                figures.judge("groundability", name, judged)
        for name in sets.names(folder, sets.ANSWERS):
            with figures.part(f"answer_grounding/{name}"), _timed(figures, f"answer_grounding/{name}", say):
                judged, notes = kinds.answer_grounding(folder, name, crew)
                figures.note(f"answer_grounding/{name}", notes)
                figures.judge("answer_grounding", name, judged)
    with figures.part("documents"), _timed(figures, "documents", say):
        figures.all["documents"] = documents.measure(folder / "documents")
    with figures.part("sizes"):
        figures.all["sizes"] = sizes.measure()
    return figures


def has_figures(figures: Figures) -> bool:
    kinds_of_sets = ("retrieval", "chunking", "groundability", "answer_grounding")
    return any(figures[kind] for kind in kinds_of_sets) or figures["documents"]["total"] > 0


def _retrieval(folder: Path, name: str, crew: Crew, figures: Figures) -> None:
    found = sets.retrieval(folder, name)
    shelf = library.shelve(folder, sets.RETRIEVAL, name, found.texts, crew)
    figures.note(f"retrieval/{name}", {**found.notes, **shelf.notes})
    figures["retrieval"][name] = kinds.retrieval(found, shelf, crew)
    figures.write()
    # A set of cases may have the same name.
    own = name if name not in sets.names(folder, sets.GROUNDABILITY) else f"{name} (corpus)"
    with figures.part(f"groundability/{own}"):
        judged = kinds.left_in_or_taken_out(found, shelf, crew)
        figures.judge("groundability", own, judged)


@contextmanager
def _timed(figures: Figures, name: str, say: Callable[[str], None]) -> Iterator[None]:
    begun = time.monotonic()
    yield
    figures["seconds"][name] = time.monotonic() - begun
    say(f"  {name}: {figures['seconds'][name]:.0f} s")
