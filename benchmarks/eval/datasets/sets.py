"""Reads the sets of an evaluation folder. A line that cannot be used becomes a note; the others are used."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

RETRIEVAL, CHUNKING, GROUNDABILITY, ANSWERS = "retrieval", "chunking", "groundability", "answer_grounding"


@dataclass(frozen=True)
class Text:
    """One document of a corpus, without NUL characters, which PostgreSQL cannot store."""

    id: str
    title: str
    text: str
    content_type: str = "text/plain"


@dataclass(frozen=True)
class RetrievalSet:
    """`grades` has the grade, above 0, by question id and document id. Every question has at least one."""

    name: str
    texts: list[Text]
    questions: dict[str, str]
    grades: dict[str, dict[str, float]]
    notes: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Span:
    """The characters of a text that answer a question."""

    start: int
    end: int


@dataclass(frozen=True)
class ChunkingSet:
    """`questions` has (question, id of its text, the spans that answer it)."""

    name: str
    texts: list[Text]
    questions: list[tuple[str, str, list[Span]]]
    notes: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Cases:
    """`cases` has (question or answer, context, whether the context contains it)."""

    name: str
    cases: list[tuple[str, str, bool]]
    notes: Counter[str] = field(default_factory=Counter)


def names(folder: Path, kind: str) -> list[str]:
    """The names of the sets of a kind; empty if the folder has none."""
    place = folder / kind
    return sorted(path.name for path in place.iterdir() if path.is_dir()) if place.is_dir() else []


def retrieval(folder: Path, name: str) -> RetrievalSet:
    place, notes = folder / RETRIEVAL / name, Counter[str]()
    texts = _texts(place, notes)
    grades = _grades(place / "qrels.tsv", notes)
    questions: dict[str, str] = {}
    for row in _rows(place / "queries.jsonl", notes):
        key, text = _plain(row.get("id")), _plain(row.get("text")).strip()
        if not text:
            notes["questions without a text"] += 1
        elif key not in grades:
            notes["questions without a relevant document"] += 1
        else:
            questions.setdefault(key, text)
    notes["graded questions without a text"] += len(grades.keys() - questions.keys())
    known = {text.id for text in texts}
    missing = sum(document not in known for key in questions for document in grades[key])
    notes["relevant documents that are not in the corpus (they count as not found)"] += missing
    return RetrievalSet(name, texts, questions, grades, +notes)


def chunking(folder: Path, name: str) -> ChunkingSet:
    place, notes = folder / CHUNKING / name, Counter[str]()
    texts = _texts(place, notes)
    lengths = {text.id: len(text.text) for text in texts}
    questions = []
    for row in _rows(place / "queries.jsonl", notes):
        text, about = _plain(row.get("text")).strip(), _plain(row.get("corpus"))
        references = [
            (max(0, int(reference["start"])), int(reference["end"])) for reference in row.get("references") or []
        ]
        spans = [Span(start, min(end, lengths.get(about, 0))) for start, end in references]
        spans = [span for span in spans if span.start < span.end]
        if text and spans:
            questions.append((text, about, spans))
        else:
            notes["questions without a text or a place that answers them"] += 1
    return ChunkingSet(name, texts, questions, +notes)


def cases(folder: Path, kind: str, name: str) -> Cases:
    """Read the cases of a groundability or answer_grounding set."""
    text_field, label = ("query", "answerable") if kind == GROUNDABILITY else ("answer", "grounded")
    notes, labelled_cases = Counter[str](), []
    for row in _rows(folder / kind / name / "cases.jsonl", notes):
        if isinstance(row.get(label), bool | int):
            labelled_cases.append((_plain(row.get(text_field)), _plain(row.get("context")), bool(row[label])))
        else:
            notes["cases without a label"] += 1
    return Cases(name, labelled_cases, +notes)


def _texts(place: Path, notes: Counter[str]) -> list[Text]:
    texts: dict[str, Text] = {}
    for row in _rows(place / "corpus.jsonl", notes):
        key, title, text = (_plain(row.get(name)) for name in ("id", "title", "text"))
        if not text.strip():
            text = title  # a title alone is a short text
        if not text.strip():
            notes["documents without a text"] += 1
        elif key in texts:
            notes["documents with the id of another one"] += 1
        else:
            texts[key] = Text(key, title.strip(), text)
    return list(texts.values())


def _grades(file: Path, notes: Counter[str]) -> dict[str, dict[str, float]]:
    grades: dict[str, dict[str, float]] = {}
    for number, line in enumerate(_lines(file)):
        fields = line.split("\t") if "\t" in line else line.split()
        if len(fields) == 4:  # as TREC writes it, with an iteration
            del fields[1]
        try:
            question, document, grade = (field.strip() for field in fields)
            value = float(grade)
        except ValueError:
            if number:  # a first line may be a heading
                notes["lines of qrels.tsv that are not understood"] += 1
            continue
        if value > 0:
            grades.setdefault(_plain(question), {})[_plain(document)] = value
    return grades


def _rows(file: Path, notes: Counter[str]) -> Iterator[dict[str, Any]]:
    for line in _lines(file):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if isinstance(row, dict):
            yield row
        else:
            notes[f"lines of {file.name} that are not understood"] += 1


def _lines(file: Path) -> Iterator[str]:
    """Split at line feeds only: JSON may contain other line separators."""
    with file.open(encoding="utf-8-sig", errors="replace", newline="\n") as lines:
        for line in lines:
            if line.strip():
                yield line.rstrip("\r\n")


def _plain(value: Any) -> str:
    """The value as text of the same length that PostgreSQL can store."""
    text = "" if value is None else value if isinstance(value, str) else str(value)
    return text.encode(errors="replace").decode().replace("\0", " ")
