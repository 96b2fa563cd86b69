"""Recall and times of searches within scopes of different sizes, made by permissions, by filters and by both."""

import dataclasses
import datetime
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from django.db import transaction
from numpy.typing import NDArray

from benchmarks.search.growth.readers import PERCENTS, Part
from benchmarks.search.growth.synthetic import CLUSTERS, TOPICAL, SyntheticChunks
from benchmarks.search.growth.write_chunks import chunk_number
from orgs.access.caller import Caller
from rag.pipeline.retrieval.find_candidates import MAX_CANDIDATES
from rag.providers import provider_factory
from rag.providers.stores.search_types import ScopeQuery
from rag.services.queries.source_selection import SourceSelection, build_search_scopes
from rag.types import Filters, Mode, Question
from ragsite.postgres import identity

_K, _QUESTIONS, _WARM_UP = 10, 20, 3
_BLOCK = 50_000
# Questions about what the scope contains; about what only other chunks or none are about; and random vectors, which no
# embedding model returns and whose nearest chunks are hardly nearer than any other.
TOPICS = ("on topic", "off topic", "no topic")


@dataclass(frozen=True)
class Cell:
    """A scope, and whether its questions are about what it contains."""

    label: str
    kind: str
    reader: Part
    filters: Filters
    part: Part
    min_age: float | None = None


@dataclass(frozen=True)
class Result:
    """What was measured in a cell: milliseconds, also of the same questions in everything, and recall."""

    label: str
    topic: str
    chunks: int
    recall: float
    fewest_rows: int
    p50: float
    p95: float
    everything_p50: float
    everything_p95: float


def _everything(parts: Sequence[Part]) -> Part:
    return next(part for part in parts if part.percent == 100)


def list_cells(parts: Sequence[Part]) -> list[Cell]:
    everything = _everything(parts)
    cells = []
    for part in parts:
        tagged = Filters(tags=(part.tag,))
        cells.append(Cell(f"{part.label}, permissions", part.kind, part, Filters(), part))
        if part.percent == 3:  # just above what is compared one by one with 1,000,000 chunks
            continue
        cells.append(Cell(f"{part.label}, tag", part.kind, everything, tagged, part))
        if part.percent < 50:
            wider = next(
                other for other in parts
                if other.kind == part.kind and other.percent == PERCENTS[PERCENTS.index(part.percent) + 1]
            )  # fmt: skip
            cells.append(
                Cell(f"{part.label}, permissions of {wider.percent:g} % and tag", part.kind, wider, tagged, part)
            )
        if part.kind == "mixed":
            age = 1 - part.percent / 100
            since = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC) + datetime.timedelta(days=3650 * age)
            cells.append(
                Cell(f"{part.percent:g} % by date", part.kind, everything, Filters(date_from=since), everything, age)
            )
    return cells


def measure(chunks: SyntheticChunks, parts: Sequence[Part]) -> list[Result]:
    """Search in each cell, and compare with all of its vectors."""
    results = []
    for topic in TOPICS:
        for kind in ("topics", "mixed"):
            cells = [cell for cell in list_cells(parts) if cell.kind == kind]
            if topic == "no topic":
                cells = [cell for cell in cells if kind == "mixed" and cell.reader is cell.part]
            by_questions: dict[tuple[int, ...], NDArray[np.float32]] = {}
            for cell in cells:
                if not len(_in_scope(chunks, cell)):  # few dates
                    continue
                texts, vectors = _questions(chunks, cell, topic, kind)
                key = tuple(vectors[:, 0].tolist())
                if key not in by_questions:
                    by_questions[key] = _similarities(chunks, vectors)
                results.append(
                    _measure_cell(chunks, cell, topic, texts, vectors, by_questions[key], _everything(parts))
                )
                print(_line(results[-1]), flush=True)
    return results


def _line(result: Result) -> str:
    return (
        f"{result.label:50} {result.topic:9} {result.chunks:9,} chunks  recall {result.recall:.3f}  fewest rows "
        f"{result.fewest_rows:2}  p50 {result.p50:6.1f} p95 {result.p95:6.1f} ms, in everything "
        f"{result.everything_p50:6.1f} {result.everything_p95:6.1f} ms"
    )


def _questions(chunks: SyntheticChunks, cell: Cell, topic: str, kind: str) -> tuple[list[str], NDArray[np.float32]]:
    """Questions about what the scope contains, or about what it does not contain."""
    random = np.random.default_rng(5)
    texts, vectors = chunks.questions, chunks.question_vectors
    places = random.choice(CLUSTERS, _QUESTIONS, replace=False)
    if topic == "no topic":
        vectors = random.standard_normal(vectors.shape).astype(np.float32)
    elif kind == "mixed" or cell.part.percent == 100:
        if topic == "off topic":
            texts, vectors = chunks.other_questions, chunks.other_vectors
            places = random.choice(len(texts), _QUESTIONS, replace=False)
    elif topic == "on topic":
        places = random.choice(max(1, cell.part.count * (CLUSTERS // 2) // TOPICAL), _QUESTIONS)
    else:
        places = CLUSTERS // 2 + random.choice(CLUSTERS // 2, _QUESTIONS, replace=False)
    vectors = vectors[places]
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return [texts[place] for place in places], vectors.astype(np.float16).astype(np.float32)


def _similarities(chunks: SyntheticChunks, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosine of each question and each chunk."""
    blocks = []
    for start in range(0, chunks.count, _BLOCK):
        block = chunks.vectors[start : start + _BLOCK].astype(np.float32)
        blocks.append(vectors @ (block / np.linalg.norm(block, axis=1, keepdims=True)).T)
    return np.concatenate(blocks, axis=1)


def _in_scope(chunks: SyntheticChunks, cell: Cell) -> NDArray[np.int64]:
    if cell.min_age is not None:
        return np.flatnonzero(chunks.age_of_document[chunks.document_of] >= cell.min_age)
    part = cell.part
    return np.flatnonzero((chunks.source_of >= part.first) & (chunks.source_of < part.first + part.count))


def _measure_cell(
    chunks: SyntheticChunks,
    cell: Cell,
    topic: str,
    texts: list[str],
    vectors: Any,
    similarities: Any,
    everything: Part,
) -> Result:
    """Search for each question in the scope and, at once afterwards, in everything: questions differ in their times."""
    numbers = _in_scope(chunks, cell)
    expected = min(_K, len(numbers))
    hits = rows = 0
    fewest, times, everything_times = expected, [], []
    for place in [*range(_WARM_UP), *range(len(texts))]:
        ids, milliseconds = _timed_search(Question(texts[place], _K, cell.filters), cell.reader, vectors[place])
        times.append(milliseconds)
        everything_times.append(_timed_search(Question(texts[place], _K), everything, vectors[place])[1])
        if len(times) <= _WARM_UP:
            continue
        scores = similarities[place]
        worst = np.partition(scores[numbers], -expected)[-expected]
        returned = [chunk_number(key) for key in ids[:_K]]
        assert np.isin(returned, numbers).all(), f"{cell.label}: a chunk outside of the scope"
        hits += int((scores[returned] >= worst - 1e-5).sum())
        rows += expected
        fewest = min(fewest, len(returned))
    return Result(
        cell.label, topic, len(numbers), hits / rows, fewest,
        *_percentiles(times[_WARM_UP:]), *_percentiles(everything_times[_WARM_UP:]),
    )  # fmt: skip


def _percentiles(times: Sequence[float]) -> tuple[float, float]:
    """Return p50 and p95."""
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return cuts[49], cuts[94]


def _timed_search(question: Question, reader: Part, vector: NDArray[np.float32]) -> tuple[tuple[Any, ...], float]:
    """Search as the reader of a part, and return the chunks with the milliseconds."""
    caller = Caller(reader.user)
    with identity.run_as(caller.database_identity):
        started = time.perf_counter()
        ids = _search(question, caller, vector)
        return ids, 1000 * (time.perf_counter() - started)


def _search(question: Question, caller: Caller, vector: NDArray[np.float32]) -> tuple[Any, ...]:
    """A hybrid search as the product makes it, without embedding the question and reading the passages."""
    with transaction.atomic():
        scopes = build_search_scopes(question, SourceSelection(caller))
        queries = [ScopeQuery(scope, vector) for scope in scopes]
        candidates = provider_factory.chunk_store().search(
            question.text, queries, mode=Mode.HYBRID, limit=MAX_CANDIDATES
        )
    return candidates[0].dense_ids


def as_json(results: Sequence[Result]) -> list[dict[str, Any]]:
    return [dataclasses.asdict(result) for result in results]
