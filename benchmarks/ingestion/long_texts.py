"""python -m benchmarks.ingestion.long_texts [FOLDER]: ways to embed chunks longer than the model's window.

Chunks of 512 tokens are ranked by cosine alone, over retrieval sets of the folder (default: shared/datasets/retrieval
beside the checkout). Prints NDCG@10 of the documents. Only the vectors of long chunks differ.
"""

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.support.set_up import set_up_django

SETS = ("cranfield", "cisi", "codebase")
DATASETS = Path(__file__).parents[3] / "shared" / "datasets" / "retrieval"


def main(datasets: Path) -> None:
    set_up_django()
    from rag.providers.embedders.local import WINDOW, LocalEmbedder, TokenWindow, split_evenly

    cache = Path(os.environ["RAGSITE_DATA"]) / "models"
    embedder = LocalEmbedder(cache=cache, threads=2)

    def embed_windows(parts: list[list[int]]) -> np.ndarray:
        return embedder.run_model([TokenWindow(0, part) for part in parts], ["embedding"])[0]

    def mean_of_windows(size: int) -> Callable[[list[str]], np.ndarray]:
        def embed(texts: list[str]) -> np.ndarray:
            rows = []
            for text in texts:
                parts = split_evenly(_token_ids(embedder, text), size)
                weights = np.array([len(part) for part in parts], np.float32)
                rows.append((embed_windows(parts) * weights[:, None]).sum(axis=0))
            return _unit(np.stack(rows))

        return embed

    def first_window(texts: list[str]) -> np.ndarray:
        return _unit(embed_windows([_token_ids(embedder, text)[: WINDOW - 2] for text in texts]))

    methods = {
        "cut after 256": first_window,
        "mean of windows ≤ 256": mean_of_windows(WINDOW - 2),
        "windows ≤ 512": mean_of_windows(510),
    }
    for name in SETS:
        texts, owners, questions, grades = _read(datasets / name)
        long = [index for index, text in enumerate(texts) if len(_token_ids(embedder, text)) > WINDOW - 2]
        vectors = embedder.embed(texts)
        query_vectors = embedder.embed(questions)
        print(f"{name}: {len(texts)} chunks, {len(long)} longer than the window")
        for method, embed in methods.items():
            vectors[long] = embed([texts[index] for index in long])
            print(f"  {method:24} NDCG@10 {_ndcg(query_vectors @ vectors.T, owners, grades):.4f}", flush=True)


def _token_ids(embedder: Any, text: str) -> list[int]:
    return list(embedder._tokenizer.encode(text, add_special_tokens=False).ids)


def _unit(vectors: np.ndarray) -> np.ndarray:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def _read(folder: Path) -> tuple[list[str], list[str], list[str], list[dict[str, float]]]:
    """Texts to embed, the document id of each, questions, and each question's grades by document id."""
    from rag.pipeline.ingestion.chunk import chunk
    from rag.text.indexed_text import embedded_text
    from rag.types import ChunkingOptions, ParsedDocument

    texts, owners = [], []
    for line in (folder / "corpus.jsonl").read_text().splitlines():
        row = json.loads(line)
        for draft in chunk(ParsedDocument(row["text"]), ChunkingOptions(512, 50)):
            texts.append(embedded_text(draft.text, draft.headings, row["title"]))
            owners.append(row["id"])
    grades: dict[str, dict[str, float]] = {}
    for line in (folder / "qrels.tsv").read_text().splitlines():
        question, document, grade = line.split("\t")
        if grade.replace(".", "").isdigit():
            grades.setdefault(question, {})[document] = float(grade)
    rows = [json.loads(line) for line in (folder / "queries.jsonl").read_text().splitlines()]
    rows = [row for row in rows if row["id"] in grades]
    return texts, owners, [row["text"] for row in rows], [grades[row["id"]] for row in rows]


def _ndcg(similarity: np.ndarray, owners: list[str], grades: list[dict[str, float]]) -> float:
    """Mean NDCG@10 with linear gain. A document has the score of its best chunk."""
    names = sorted(set(owners))
    columns = np.array([names.index(owner) for owner in owners])
    discount = 1 / np.log2(np.arange(2, 12))
    total = 0.0
    for row, relevant in zip(similarity, grades, strict=True):
        best = np.full(len(names), -2.0)
        np.maximum.at(best, columns, row)
        gains = np.array([relevant.get(names[index], 0.0) for index in np.argsort(-best)[:10]])
        ideal = np.array(sorted(relevant.values(), reverse=True)[:10])
        total += (gains * discount[: len(gains)]).sum() / (ideal * discount[: len(ideal)]).sum()
    return total / len(grades)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DATASETS)
