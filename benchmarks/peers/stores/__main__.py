"""python -m benchmarks.peers.stores NAME FOLDER MODEL DATABASE: a peer that reads requests as lines of JSON.

Each line has `do` and its arguments. Its answer is one line of JSON, with the milliseconds that it took.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.stores.base import Place, Store

_STORES = {"LangChain": "langchain", "LlamaIndex": "llamaindex", "Chroma": "chroma"}


def main(name: str, folder: str, model: str, database: str) -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    module = importlib.import_module(f"benchmarks.peers.stores.{_STORES[name]}")
    store: Store = getattr(module, name)(Place(Path(folder), model, database))
    store.embed("warm")
    print(json.dumps({"is_ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(_ACTIONS[request.pop("do")](store, **request)), file=answers, flush=True)


def _ingest(store: Store, documents: list[dict[str, str]]) -> dict[str, Any]:
    started = time.perf_counter()
    chunks = store.ingest(documents)
    return {"chunks": chunks, "milliseconds": _since(started)}


def _load(store: Store, texts: str, vectors: str, sources: str) -> dict[str, Any]:
    """The arguments are the paths of files."""
    arguments = json.loads(Path(texts).read_text()), np.load(vectors), json.loads(Path(sources).read_text())
    started = time.perf_counter()
    store.load(*arguments)
    return {"milliseconds": _since(started)}


def _search(store: Store, question: str, sources: list[str] | None) -> dict[str, Any]:
    started = time.perf_counter()
    vector = store.embed(question)
    embedding = _since(started)
    texts = store.search(vector, sources)
    return {"texts": texts, "embedding": embedding, "milliseconds": _since(started)}


def _since(started: float) -> float:
    return 1000 * (time.perf_counter() - started)


_ACTIONS: dict[str, Callable[..., dict[str, Any]]] = {"ingest": _ingest, "load": _load, "search": _search}

if __name__ == "__main__":
    main(*sys.argv[1:])
