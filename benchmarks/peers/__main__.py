"""make bench-peers: the product beside LangChain's and LlamaIndex's stores in PostgreSQL and Chroma.

The same documents go through the ordinary ingestion of each. Then the same synthetic passages with the same vectors, in
5,000 sources, are stored in each, and the same questions are asked within 0.1, 1, 10 and 100 % of the sources. Requests
alternate. The product is asked over HTTP by users with grants for exactly these sources; a peer gets their ids as a
filter of metadata, and no filter for all sources. The report is var/peers/report.json.

BENCH_CHUNKS, BENCH_SOURCES, BENCH_QUESTIONS (of each scope) and BENCH_DOCUMENTS (paragraphs of a round of ingestion)
change the numbers.
"""

import datetime
import importlib.metadata
import json
import os
import platform
import signal
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import psycopg

from benchmarks.peers import figures, memory
from benchmarks.peers.process import PeerProcess
from benchmarks.support.set_up import migrate, set_up_django

PEERS = ("LangChain", "LlamaIndex", "Chroma")
_SQL_PEERS = PEERS[:2]
_PACKAGES = ("langchain-postgres", "llama-index-vector-stores-postgres", "chromadb", "sentence-transformers", "torch")
# A chunk is what the model reads at once, for all.
_CHUNKS = {"RAG_CHUNK_TOKENS": "254", "RAG_CHUNK_OVERLAP_TOKENS": "0"}


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the processes are stopped
    os.environ.update(_CHUNKS)
    set_up_django()
    from benchmarks.peers import given_vectors, ingestion, product, searches
    from benchmarks.support.api_client import ApiClient
    from benchmarks.support.server import Server, free_port
    from rag.providers.embedders.minilm_files import find_model_folder

    migrate()
    folder = Path(os.environ["RAGSITE_DATA"])
    python = Path(os.environ["PEERS_PYTHON"])
    started = time.monotonic()
    with ExitStack() as stack:
        server = stack.enter_context(Server(folder, free_port()))
        api = stack.enter_context(ApiClient(server.address))
        peers = [
            stack.enter_context(
                PeerProcess(name, python=python, folder=folder / name, model=find_model_folder(), database=url)
            )
            for name, url in _create_databases().items()
        ]
        rates = ingestion.measure(api, peers)
        passages = product.Passages.create(_number("BENCH_CHUNKS", 20_000), _number("BENCH_SOURCES", 5_000))
        loads = given_vectors.write(passages, peers, folder)
        cells = searches.measure(passages, peers, server.address, _number("BENCH_QUESTIONS", 30))
        megabytes = _memory(peers, folder)
    stores = [figures.StoreFigures(name, *rates[name], loads[name], *megabytes[name]) for name in rates]
    summaries = [cell.summary() for cell in cells]
    print(f"\n{figures.tables(stores, summaries)}\n\nBehind a peer:", flush=True)
    sentences = figures.list_lags(stores, summaries)
    print("\n".join(f"- {sentence}" for sentence in sentences) or "nowhere")
    report = {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - started),
        "machine": {"cores": os.cpu_count(), "memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")},
        "versions": _versions(python),
        "passages": len(passages.texts),
        "sources": passages.source_count,
        "stores": [asdict(row) for row in stores],
        "searches": summaries,
        "behind": sentences,
    }
    (folder.parent / "report.json").write_text(json.dumps(report, indent=1))


def _number(variable: str, default: int) -> int:
    return int(os.environ.get(variable, default))


def _create_databases() -> dict[str, str]:
    """Create a database for each peer that needs one. Return their SQLAlchemy URLs without the scheme."""
    url = urlsplit(os.environ["DATABASE_URL"])
    socket = parse_qs(url.query)["host"][0]
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as connection:
        for name in _SQL_PEERS:
            connection.execute(f'DROP DATABASE IF EXISTS "{name.lower()}"')
            connection.execute(f'CREATE DATABASE "{name.lower()}"')
    return {name: f"{url.username}@/{name.lower()}?host={socket}" if name in _SQL_PEERS else "" for name in PEERS}


def _memory(peers: list[PeerProcess], folder: Path) -> dict[str, tuple[float, float]]:
    from django.db import connection

    connection.close()  # this process's own session is not the product's
    databases = {name: name.lower() for name in _SQL_PEERS} | {figures.OURS: connection.settings_dict["NAME"]}
    postgres = int((folder / "postgres" / "postmaster.pid").read_text().split()[0])
    processes = memory.processes_of({peer.name: peer.pid for peer in peers}, figures.OURS)
    sessions = memory.sessions_of(databases, postgres)
    return {name: (processes[name], sessions.get(name, 0.0)) for name in processes}


def _versions(python: Path) -> dict[str, str]:
    code = "import importlib.metadata, sys; print(*map(importlib.metadata.version, sys.argv[1:]))"
    versions = subprocess.run([str(python), "-c", code, *_PACKAGES], capture_output=True, text=True, check=True).stdout
    return {
        "python": platform.python_version(),
        "onnxruntime": importlib.metadata.version("onnxruntime"),
        **dict(zip(_PACKAGES, versions.split(), strict=True)),
    }


if __name__ == "__main__":
    main()
