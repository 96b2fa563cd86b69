"""Each kind of set: asked through the product, and its figures."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.eval import measures
from benchmarks.eval.datasets import sets
from benchmarks.eval.runner import library, modes, questions
from benchmarks.eval.runner.workers import Crew
from rag.types import MAX_QUESTION_CHARACTERS

# The budget of the chunking sets: what five chunks of 200 pieces hold.
PIECES = 1_000


@dataclass(frozen=True)
class Judged:
    """Scores beside what is true: for the figures and the plots."""

    scores: list[float]
    labels: list[bool]

    def figures(self) -> dict[str, Any]:
        return {
            "auc": measures.auc(self.scores, self.labels),
            "calibration_error": measures.calibration_error(self.scores, self.labels),
            "risk_under_coverage": measures.area_under(measures.coverage_risk(self.scores, self.labels)),
            "cases": len(self.labels),
        }


def retrieval(found: sets.RetrievalSet, shelf: library.Shelf, crew: Crew) -> dict[str, Any]:
    """gear → figures, means over the questions."""
    keys = list(found.questions)
    answers = crew.share(questions.documents, [_asked(found.questions[key]) for key in keys], shelf.scope)
    figures: dict[str, Any] = {}
    for gear in modes.GEARS:
        ranked = [[shelf.ids[path] for path in answer[gear][0]] for answer in answers]
        graded = [(order, found.grades[key]) for order, key in zip(ranked, keys, strict=True)]
        figures[gear] = {
            "ndcg10": measures.mean([measures.ndcg(order, grades) for order, grades in graded]),
            "recall5": measures.mean([measures.recall(order, grades, 5) for order, grades in graded]),
            "recall10": measures.mean([measures.recall(order, grades, 10) for order, grades in graded]),
            "mrr10": measures.mean([measures.reciprocal_rank(order, grades) for order, grades in graded]),
            "milliseconds": measures.mean([answer[gear][1] for answer in answers]),
        }
    return figures


def left_in_or_taken_out(found: sets.RetrievalSet, shelf: library.Shelf, crew: Crew) -> Judged:
    """Groundability of a whole corpus: each question once as it is, once without its relevant documents."""
    paths = {text_id: path for path, text_id in shelf.ids.items()}
    items = []
    for key, text in found.questions.items():
        relevant = [paths[text_id] for text_id in found.grades[key] if text_id in paths]
        if relevant:
            items.append((_asked(text), relevant))
    pairs = crew.share(questions.with_and_without, items, shelf.scope)
    return Judged([left for left, _ in pairs] + [out for _, out in pairs], [True] * len(pairs) + [False] * len(pairs))


def groundability(folder: Path, name: str, crew: Crew) -> tuple[Judged, library.Shelf, dict[str, int]]:
    """Each context is a document; each question is asked of its own context alone."""
    found = sets.cases(folder, sets.GROUNDABILITY, name)
    contexts = {
        context: f"context-{number}" for number, context in enumerate(dict.fromkeys(c for _, c, _ in found.cases))
    }
    texts = [sets.Text(key, "", context) for context, key in contexts.items() if context.strip()]
    shelf = library.shelve(folder, sets.GROUNDABILITY, name, texts, crew)
    items = [(_asked(query), library.tag(contexts[context])) for query, context, _ in found.cases]
    asked = [number for number, (query, _) in enumerate(items) if query.strip()]
    scores = [0.0] * len(items)
    (source_id,) = shelf.scope.source_ids
    answers = crew.share(questions.within, [items[number] for number in asked], source_id, shelf.scope.model_id)
    for number, score in zip(asked, answers, strict=True):
        scores[number] = score
    return Judged(scores, [label for *_, label in found.cases]), shelf, dict(found.notes)


def answer_grounding(folder: Path, name: str, crew: Crew) -> tuple[Judged, dict[str, int]]:
    found = sets.cases(folder, sets.ANSWERS, name)
    scores = crew.share(questions.carried, [(answer, context) for answer, context, _ in found.cases])
    return Judged(scores, [label for *_, label in found.cases]), dict(found.notes)


def chunking(found: sets.ChunkingSet, shelf: library.Shelf, crew: Crew) -> dict[str, Any]:
    """Recall, precision and intersection over union, in characters, of what is retrieved within the budget.

    The chunks are read best first until 1,000 word pieces of the local model are used up; the last is cut where they
    are. Pieces that two chunks share count in both, as in a prompt; characters count once. Means over the questions.
    The default gear's figures stand beside those of all gears.
    """
    answers = crew.share(questions.chunks, [_asked(text) for text, _, _ in found.questions], shelf.scope)
    by_gear: dict[str, Any] = {}
    for gear in modes.GEARS:
        rows = []
        for answer, (_, about, spans) in zip(answers, found.questions, strict=True):
            read = [(shelf.ids[path], start, end) for path, start, end in _within_budget(answer[gear])]
            rows.append(measures.overlap(read, [(about, span.start, span.end) for span in spans]))
        by_gear[gear] = {name: measures.mean([row[name] for row in rows]) for name in ("recall", "precision", "iou")}
    return {**by_gear[modes.DEFAULT], "gears": by_gear, "questions": len(found.questions), "chunks": shelf.chunks}


def _within_budget(chunks: Sequence[questions.Found]) -> list[tuple[str, int, int]]:
    left, read = PIECES, []
    for path, start, end, text in chunks:
        offsets = _tokenizer().encode(text, add_special_tokens=False).offsets
        if len(offsets) > left:
            end = start + offsets[left - 1][1]
        read.append((path, start, end))
        left -= len(offsets)
        if left <= 0:
            break
    return read


@functools.cache
def _tokenizer() -> Any:
    from django.conf import settings

    from rag.providers.embedders.local import LocalEmbedder

    return LocalEmbedder(cache=settings.RAG_MODEL_CACHE_FOLDER, threads=1)._tokenizer


def _asked(text: str) -> str:
    """As long as a client may ask."""
    return text[:MAX_QUESTION_CHARACTERS]
