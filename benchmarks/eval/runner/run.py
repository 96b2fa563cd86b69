"""Measures all sets of a folder, one after the other. A set that fails is reported; the others are measured."""

import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings

from benchmarks.eval.datasets import answers as answer_sets
from benchmarks.eval.datasets import sets, tuning
from benchmarks.eval.reporting.figures import Figures
from benchmarks.eval.runner import answers, bytes_per_chunk, corpora, figures_by_kind, parsed_files
from benchmarks.eval.runner.workers import WorkerPool


def everything(
    folder: Path,
    out: Path,
    report_line: Callable[[str], None],
    chosen: Collection[str] = frozenset(),
    *,
    model_sets: Collection[str] | None = None,
) -> Figures:
    """Measure the sets of the chosen kinds; of all kinds if none is chosen.

    Args:
        folder: The folder of the sets.
        out: The file for the figures.
        report_line: Receives what is done.
        chosen: The kinds.
        model_sets: The sets of whole answers that the configured language model answers too; None for all.
    """

    def names(kind: str) -> list[str]:
        return sets.names(folder, kind) if not chosen or kind in chosen else []

    figures = Figures(out, report_line)
    corpora.cancel_interrupted_jobs()
    with WorkerPool() as pool:
        report_line(f"Sets of {folder}, {pool.size} processes")
        for name in names(sets.RETRIEVAL):
            with figures.part(f"retrieval/{name}"), _timed(figures, f"retrieval/{name}", report_line):
                _retrieval(folder, name, pool, figures)
        for name in names(sets.CHUNKING):
            with figures.part(f"chunking/{name}"), _timed(figures, f"chunking/{name}", report_line):
                dataset = sets.chunking(folder, name)
                question_texts = [text for text, _, _ in dataset.questions]
                corpus = corpora.ingest_corpus(
                    folder, sets.CHUNKING, name, dataset.texts, pool, questions=question_texts
                )
                figures.note(f"chunking/{name}", {**dataset.notes, **corpus.notes})
                figures["chunking"][name] = figures_by_kind.chunking(dataset, corpus, pool)
        for name in names(sets.GROUNDABILITY):
            with figures.part(f"groundability/{name}"), _timed(figures, f"groundability/{name}", report_line):
                judged, corpus, notes = figures_by_kind.groundability(folder, name, pool)
                figures.note(f"groundability/{name}", {**notes, **corpus.notes})
                figures.judge("groundability", name, judged)
        for name in names(sets.ANSWERS):
            with figures.part(f"answer_grounding/{name}"), _timed(figures, f"answer_grounding/{name}", report_line):
                judged, notes = figures_by_kind.answer_grounding(folder, name, pool)
                figures.note(f"answer_grounding/{name}", notes)
                figures.judge("answer_grounding", name, judged)
        for name in names(answer_sets.KIND):
            with figures.part(f"answers/{name}"), _timed(figures, f"answers/{name}", report_line):
                has_model = bool(settings.LLM_MODEL) and (model_sets is None or name in model_sets)
                figures["answers"][name] = _answers(folder, name, pool, has_model=has_model)
    if not chosen or "documents" in chosen:
        with figures.part("documents"), _timed(figures, "documents", report_line):
            figures.all["documents"] = parsed_files.measure(folder / "documents")
    for kind in ("retrieval", "chunking", "groundability", "answer_grounding", "answers"):
        figures["tuning"][kind] = {name: tuning.read(folder, kind, name) for name in figures[kind]}
    with figures.part("sizes"):
        figures.all["sizes"] = bytes_per_chunk.measure()
    return figures


def has_figures(figures: Figures) -> bool:
    kinds_of_sets = ("retrieval", "chunking", "groundability", "answer_grounding", "answers")
    return any(figures[kind] for kind in kinds_of_sets) or figures["documents"].get("total", 0) > 0


def _answers(folder: Path, name: str, pool: WorkerPool, *, has_model: bool) -> dict[str, Any]:
    """Figures by author: quotes, and the language model."""
    dataset = answer_sets.read(folder, name)
    question_texts = [question.text for question in dataset.questions]
    corpus = corpora.ingest_corpus(folder, answer_sets.KIND, name, dataset.texts, pool, questions=question_texts)
    authors = answers.AUTHORS if has_model else {"extractive": answers.AUTHORS["extractive"]}
    return {label: answers.measure(dataset, corpus, pool, author) for label, author in authors.items()}


def _retrieval(folder: Path, name: str, pool: WorkerPool, figures: Figures) -> None:
    dataset = sets.retrieval(folder, name)
    question_texts = dataset.questions.values()
    corpus = corpora.ingest_corpus(folder, sets.RETRIEVAL, name, dataset.texts, pool, questions=question_texts)
    figures.note(f"retrieval/{name}", {**dataset.notes, **corpus.notes})
    figures["retrieval"][name] = figures_by_kind.retrieval(dataset, corpus, pool)
    figures.write()
    # A set of cases may have the same name.
    cases_name = name if name not in sets.names(folder, sets.GROUNDABILITY) else f"{name} (corpus)"
    with figures.part(f"groundability/{cases_name}"):
        judged = figures_by_kind.left_in_or_taken_out(dataset, corpus, pool)
        figures.judge("groundability", cases_name, judged)


@contextmanager
def _timed(figures: Figures, name: str, report_line: Callable[[str], None]) -> Iterator[None]:
    started = time.monotonic()
    yield
    figures["seconds"][name] = time.monotonic() - started
    report_line(f"  {name}: {figures['seconds'][name]:.0f} s")
