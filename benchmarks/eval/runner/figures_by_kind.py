"""Runs each kind of set through the product and computes its figures."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.eval import measures
from benchmarks.eval.datasets import sets
from benchmarks.eval.runner import corpora, modes, questions
from benchmarks.eval.runner.workers import WorkerPool
from rag.types import MAX_QUESTION_CHARACTERS

# The budget of the chunking sets: as many tokens as five chunks of 200.
MAX_TOKENS = 1_000


@dataclass(frozen=True)
class Judged:
    """Scores and labels of the cases, for the figures and the plots."""

    scores: list[float]
    labels: list[bool]

    def figures(self) -> dict[str, Any]:
        return {
            "auc": measures.auc(self.scores, self.labels),
            "calibration_error": measures.calibration_error(self.scores, self.labels),
            "risk_under_coverage": measures.area_under(measures.coverage_risk(self.scores, self.labels)),
            "cases": len(self.labels),
        }


def retrieval(dataset: sets.RetrievalSet, corpus: corpora.IngestedCorpus, pool: WorkerPool) -> dict[str, Any]:
    """Figures by mode: means over the questions."""
    keys = list(dataset.questions)
    answers = pool.share(questions.documents, [_truncated(dataset.questions[key]) for key in keys], corpus.source_id)
    figures: dict[str, Any] = {}
    for mode in modes.MODES:
        ranked = [[corpus.ids[path] for path in answer[mode][0]] for answer in answers]
        graded = [(order, dataset.grades[key]) for order, key in zip(ranked, keys, strict=True)]
        figures[mode] = {
            "ndcg10": measures.mean([measures.ndcg(order, grades) for order, grades in graded]),
            "recall5": measures.mean([measures.recall(order, grades, 5) for order, grades in graded]),
            "recall10": measures.mean([measures.recall(order, grades, 10) for order, grades in graded]),
            "mrr10": measures.mean([measures.reciprocal_rank(order, grades) for order, grades in graded]),
            "milliseconds": measures.mean([answer[mode][1] for answer in answers]),
        }
    return figures


def left_in_or_taken_out(dataset: sets.RetrievalSet, corpus: corpora.IngestedCorpus, pool: WorkerPool) -> Judged:
    """Groundability in a corpus: each question is asked with and without its relevant documents."""
    paths = {text_id: path for path, text_id in corpus.ids.items()}
    items = []
    for key, text in dataset.questions.items():
        relevant = [paths[text_id] for text_id in dataset.grades[key] if text_id in paths]
        if relevant:
            items.append((_truncated(text), relevant))
    pairs = pool.share(questions.with_and_without, items, corpus.source_id)
    return Judged(
        [score for score, _ in pairs] + [score for _, score in pairs], [True] * len(pairs) + [False] * len(pairs)
    )


def groundability(folder: Path, name: str, pool: WorkerPool) -> tuple[Judged, corpora.IngestedCorpus, dict[str, int]]:
    """Each context is a document; each question is asked about its context alone."""
    dataset = sets.cases(folder, sets.GROUNDABILITY, name)
    contexts = {
        context: f"context-{number}" for number, context in enumerate(dict.fromkeys(c for _, c, _ in dataset.cases))
    }
    texts = [sets.Text(key, "", context) for context, key in contexts.items() if context.strip()]
    items = [(_truncated(query), corpora.tag(contexts[context])) for query, context, _ in dataset.cases]
    question_texts = [query for query, _ in items]
    corpus = corpora.ingest_corpus(folder, sets.GROUNDABILITY, name, texts, pool, questions=question_texts)
    answerable_numbers = [number for number, (query, _) in enumerate(items) if query.strip()]
    scores = [0.0] * len(items)
    answers = pool.share(
        questions.groundability_in_documents,
        [items[number] for number in answerable_numbers],
        corpus.source_id,
    )
    for number, score in zip(answerable_numbers, answers, strict=True):
        scores[number] = score
    return Judged(scores, [label for *_, label in dataset.cases]), corpus, dict(dataset.notes)


def answer_grounding(folder: Path, name: str, pool: WorkerPool) -> tuple[Judged, dict[str, int]]:
    dataset = sets.cases(folder, sets.ANSWERS, name)
    scores = pool.share(questions.score_support, [(answer, context) for answer, context, _ in dataset.cases])
    return Judged(scores, [label for *_, label in dataset.cases]), dict(dataset.notes)


def chunking(dataset: sets.ChunkingSet, corpus: corpora.IngestedCorpus, pool: WorkerPool) -> dict[str, Any]:
    """Recall, precision and intersection over union, in characters, of what is retrieved within the budget.

    The chunks are read best first until 1,000 tokens of the local model are used up; the last chunk is cut there.
    Tokens that two chunks share count twice, as in a prompt; characters count once. The figures are means over the
    questions, of the default mode and, under `modes`, of all modes.
    """
    answers = pool.share(questions.chunks, [_truncated(text) for text, _, _ in dataset.questions], corpus.source_id)
    by_mode: dict[str, Any] = {}
    for mode in modes.MODES:
        rows = []
        for answer, (_, about, spans) in zip(answers, dataset.questions, strict=True):
            read = [(corpus.ids[path], start, end) for path, start, end in _within_budget(answer[mode])]
            rows.append(measures.overlap(read, [(about, span.start, span.end) for span in spans]))
        by_mode[mode] = {name: measures.mean([row[name] for row in rows]) for name in ("recall", "precision", "iou")}
    return {**by_mode[modes.DEFAULT], "modes": by_mode, "questions": len(dataset.questions), "chunks": corpus.chunks}


def _within_budget(chunks: Sequence[questions.Found]) -> list[tuple[str, int, int]]:
    tokens_left, spans = MAX_TOKENS, []
    for path, start, end, text in chunks:
        offsets = _tokenizer().encode(text, add_special_tokens=False).offsets
        if len(offsets) > tokens_left:
            end = start + offsets[tokens_left - 1][1]
        spans.append((path, start, end))
        tokens_left -= len(offsets)
        if tokens_left <= 0:
            break
    return spans


@functools.cache
def _tokenizer() -> Any:
    from django.conf import settings

    from rag.providers.embedders.local import LocalEmbedder

    return LocalEmbedder(cache=settings.RAG_MODEL_CACHE_FOLDER, threads=1)._tokenizer


def _truncated(text: str) -> str:
    """Cut a question to the length that clients may send."""
    return text[:MAX_QUESTION_CHARACTERS]
