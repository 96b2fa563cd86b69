"""python -m benchmarks.extraction: measures whether extractive answers quote the characters that answer a question.

It uses the pipeline and the database that serve users, without a language model. The sets say which characters answer
each question: the chunking sets of EVAL_SETS, and the retrieval sets that have an `answers.jsonl` with lines
`{"id": question, "document": id, "answers": [[start, end], …]}`. Every question is answered, whether groundable or not,
because the choice of sentences is measured.
"""

import json
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.support.set_up import set_up_django

_MAX_TOKENS = 4_000

# (document, start, end), in characters.
Span = tuple[str, int, int]

# Positions of characters, each with its document.
Positions = set[tuple[str, int]]


@dataclass(frozen=True)
class LabelledQuestion:
    """A question with the characters of its expected answers, without white space, which no quote between two has.

    With `is_any` one of the answers is enough, otherwise all are expected.
    """

    text: str
    answers: list[Positions]
    is_any: bool


@dataclass(frozen=True)
class Extract:
    """The quotes for a question, and the time of choosing them in milliseconds."""

    quoted: list[Span]
    milliseconds: float


def main() -> None:
    os.environ.setdefault("LOG_LEVEL", "ERROR")
    set_up_django()
    from django.core.management import call_command

    from ragsite.postgres.base import run_as_owner

    with run_as_owner():  # of the tables, which an earlier run may have created
        call_command("migrate", verbosity=0)
    columns = ("answered", "recall", "precision", "characters", "median ms", "questions")
    print(f"{'':24} " + " ".join(f"{column:>{width}}" for column, width in zip(columns, _WIDTHS, strict=True)))
    for name, figures in measured():
        print(f"{name:24} " + " ".join(f"{figure:>{width}}" for figure, width in zip(figures, _WIDTHS, strict=True)))


_WIDTHS = (10, 8, 10, 11, 10, 10)


def measured() -> Iterator[tuple[str, list[str]]]:
    """Yield each set's name with its formatted figures."""
    from benchmarks.eval.__main__ import INCLUDED_SETS, chosen_folder
    from benchmarks.eval.datasets import sets
    from benchmarks.eval.runner import corpora
    from benchmarks.eval.runner.workers import WorkerPool

    corpora.cancel_interrupted_jobs()
    with WorkerPool() as pool:
        for folder in dict.fromkeys((chosen_folder(), INCLUDED_SETS)):
            for name in sets.names(folder, sets.CHUNKING):
                labelled = sets.chunking(folder, name)
                texts = {text.id: text.text for text in labelled.texts}
                questions = [
                    LabelledQuestion(
                        text, [visible((about, span.start, span.end), texts[about]) for span in spans], is_any=False
                    )
                    for text, about, spans in labelled.questions
                ]
                corpus = corpora.ingest_corpus(folder, sets.CHUNKING, name, labelled.texts, pool)
                yield name, _figures(questions, corpus, texts)
        for name in sets.names(chosen_folder(), sets.RETRIEVAL):
            places = chosen_folder() / sets.RETRIEVAL / name / "answers.jsonl"
            if places.exists():
                dataset = sets.retrieval(chosen_folder(), name)
                corpus = corpora.ingest_corpus(chosen_folder(), sets.RETRIEVAL, name, dataset.texts, pool)
                texts = {text.id: text.text for text in dataset.texts}
                yield name, _figures(list(_answered(places, dataset.questions, texts)), corpus, texts)


def visible(span: Span, text: str) -> Positions:
    """The characters of a span in a document's text that are not white space."""
    document, start, end = span
    return {(document, at) for at in range(start, end) if not text[at].isspace()}


def _answered(places: Path, questions: dict[str, str], texts: dict[str, str]) -> Iterator[LabelledQuestion]:
    for line in places.read_text().splitlines():
        row = json.loads(line)
        if row["id"] in questions:
            document = row["document"]
            answers = [visible((document, start, end), texts[document]) for start, end in row["answers"]]
            yield LabelledQuestion(questions[row["id"]], answers, is_any=True)


def _figures(questions: Sequence[LabelledQuestion], corpus: Any, texts: dict[str, str]) -> list[str]:
    """The formatted figures of one set.

    Returns:
        answered: share of questions with a complete answer in the quotes; recall: share of expected characters that are
        quoted; precision: share of quoted characters that are expected; mean number of quoted characters; median
        milliseconds; number of questions.
    """
    extracts = [extract(question.text, corpus) for question in questions]
    rows = [overlap(question, extracted.quoted, texts) for question, extracted in zip(questions, extracts, strict=True)]
    milliseconds = sorted(extracted.milliseconds for extracted in extracts)
    means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
    whole = [f"{means[3]:.0f}", f"{milliseconds[len(milliseconds) // 2]:.1f}", str(len(rows))]
    return [*(f"{mean:.3f}" for mean in means[:3]), *whole]


def overlap(
    question: LabelledQuestion, quoted: Sequence[Span], texts: dict[str, str]
) -> tuple[float, float, float, int]:
    """Return whether a whole answer is quoted, recall and precision in characters, and how many were quoted."""
    quotes = set().union(*(visible(span, texts[span[0]]) for span in quoted))
    recalls = [len(answer & quotes) / len(answer) for answer in question.answers]
    expected = set().union(*question.answers)
    recall = max(recalls) if question.is_any else len(expected & quotes) / len(expected)
    precision = len(expected & quotes) / max(1, len(quotes))
    return float(max(recalls) == 1), recall, precision, sum(end - start for _, start, end in quoted)


def extract(text: str, corpus: Any) -> Extract:
    from benchmarks.eval.runner import modes, searched_models
    from rag.pipeline.answering.extractive.extract import compare_sentences, extract_quotes
    from rag.pipeline.answering.prompt import build_prompt
    from rag.pipeline.grounding.assess_grounding import assess_grounding
    from rag.pipeline.grounding.calibration_curve import mode_name
    from rag.pipeline.retrieval import retrieve

    question = modes.question(text, modes.DEFAULT, modes.DEFAULT_TOP_K)
    scopes = searched_models.scopes(question, corpus.source_id)
    context = build_prompt(text, retrieve.find_passages(question, scopes).passages, max_tokens=_MAX_TOKENS)
    relevant = assess_grounding(text, context, mode=mode_name(question)).relevant
    if relevant and len(relevant) < len(context.passages):
        context = build_prompt(text, relevant, max_tokens=_MAX_TOKENS)
    started = time.perf_counter()
    cited = extract_quotes(
        text, context.numbered_passages, compare_sentences(text, context.numbered_passages, context.passages)
    )
    milliseconds = 1000 * (time.perf_counter() - started)
    return Extract(
        [
            (corpus.ids[citation.passage.path], citation.start, citation.end)
            for quote in cited
            for citation in quote.citations
        ],
        milliseconds,
    )


if __name__ == "__main__":
    main()
