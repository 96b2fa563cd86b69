"""The same questions to all, in alternation."""

import json
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.peers.figures import OURS, TOP_K, Cell, recall
from benchmarks.peers.product import Passages, embed
from benchmarks.support import corpus
from benchmarks.support.api_client import ApiClient

if TYPE_CHECKING:
    from benchmarks.peers.process import PeerProcess

_WARM_UP = 3
DENSE = f"{OURS}, by vectors alone"


class Answer(NamedTuple):
    texts: list[str]
    milliseconds: float
    embedding: float | None


class Asker(NamedTuple):
    """How a store is asked, and the place among the questions of its first one."""

    cell: Cell
    ask: Callable[[str], Answer]
    first: int


def measure(passages: Passages, peers: "list[PeerProcess]", address: str, count: int) -> list[Cell]:
    """Ask `count` questions within each scope.

    The product keeps the embeddings of questions. So each of its two kinds of search, by words and vectors and by
    vectors alone, gets questions that it has not embedded before.
    """
    number_of = {text: number for number, text in enumerate(passages.texts)}
    vectors = passages.vectors.astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    scopes = passages.scopes()
    size = _WARM_UP + count
    questions = _questions(2 * size, len(scopes))
    cells = []
    for (scope, (reader, numbers)), texts in zip(scopes.items(), questions, strict=True):
        sources = None if reader.sources == passages.source_count else reader.slugs
        client = ApiClient(address).signed_in(reader.user.email, reader.user.email)
        askers = [
            Asker(Cell(OURS, scope), partial(_search, client, "/api/rag/search", {"topK": TOP_K}), size),
            Asker(Cell(DENSE, scope), partial(_search, client, "/api/rag/retrieve", _BY_VECTORS), 0),
            *(Asker(Cell(peer.name, scope), partial(_ask_peer, peer, sources), 0) for peer in peers),
        ]
        answers = _alternate(askers, texts, size)
        similarities = embed(texts[:size]) @ vectors.T
        for asker in askers:
            _fill(asker.cell, answers[asker.cell.store], similarities, numbers, number_of)
        _measure_embedding([asker.cell for asker in askers if asker.cell.store.startswith(OURS)], texts[size:])
        cells += [asker.cell for asker in askers]
        print(f"{scope} of {passages.source_count:,} sources measured", flush=True)
    return cells


def _questions(size: int, scopes: int) -> list[list[str]]:
    """Other questions for each scope."""
    questions = corpus.questions(limit=size * scopes)
    if len(questions) < size * scopes:
        raise SystemExit(f"There are only {len(questions)} questions: set BENCH_QUESTIONS to a lower number.")
    return [questions[start : start + size] for start in range(0, len(questions), size)]


def _alternate(askers: list[Asker], texts: list[str], size: int) -> dict[str, list[Answer]]:
    """Return the answers of each store, without those that warm up."""
    answers: dict[str, list[Answer]] = {asker.cell.store: [] for asker in askers}
    for number in range(size):
        for asker in askers[:: 1 if number % 2 else -1]:
            answers[asker.cell.store].append(asker.ask(texts[asker.first + number]))
    return {store: store_answers[_WARM_UP:] for store, store_answers in answers.items()}


def _fill(cell: Cell, answers: list[Answer], similarities: Any, numbers: Any, number_of: dict[str, int]) -> None:
    """Add the answers to a cell. Recall is that by vectors, so a search by words as well has none."""
    for answer, row in zip(answers, similarities[_WARM_UP:], strict=True):
        cell.times.append(answer.milliseconds)
        cell.rows.append(len(answer.texts))
        if answer.embedding is not None:
            cell.embeddings.append(answer.embedding)
        if cell.store != OURS:
            cell.recalls.append(recall(row, numbers, [number_of[text] for text in answer.texts]))


_BY_VECTORS = {"topK": TOP_K, "mode": "dense", "rerank": False}


def _search(client: ApiClient, path: str, options: dict[str, Any], question: str) -> Answer:
    started = time.perf_counter()
    content = client.read("POST", path, json.dumps({"query": question, **options}))
    milliseconds = 1000 * (time.perf_counter() - started)
    body = json.loads(content)
    passages = body["documents"] if "documents" in body else body["results"]
    return Answer([passage.get("text", "") for passage in passages], milliseconds, None)


def _ask_peer(peer: "PeerProcess", sources: list[str] | None, question: str) -> Answer:
    answer = peer.ask("search", question=question, sources=sources)
    return Answer(answer["texts"], answer["milliseconds"], answer["embedding"])


def _measure_embedding(cells: list[Cell], questions: list[str]) -> None:
    """Embed in this process as the web server does, where it cannot be measured apart."""
    for question in questions:
        started = time.perf_counter()
        embed([question])
        for cell in cells:
            cell.embeddings.append(1000 * (time.perf_counter() - started))
