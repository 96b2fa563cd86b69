"""make bench: compares ingestion with the embedder alone, and search over HTTP with embedding and SQL alone.

It runs real processes on the embedded services (gunicorn, a Celery worker), on loopback, and deletes what it creates.
"""

import os
from pathlib import Path

import django

from benchmarks.support.server import Server, free_port
from ragsite.postgres import identity

# How many chunks are embedded by the endpoint that is 50 ms away.
_REMOTE = (("BENCH_FIRST_LOAD", "30000"), ("BENCH_LIVE", "6000"))


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
    os.environ.setdefault("RAG_RATE_LIMITS", "off")
    os.environ.setdefault("RAG_ALLOWED_PRIVATE_HOSTS", "127.0.0.1")  # benchmarks/support/endpoint.py
    identity.run_process_as(identity.WORKER)
    django.setup()
    from benchmarks import targets
    from benchmarks.ingestion import jobs, remote
    from benchmarks.search import http
    from benchmarks.support import corpus
    from benchmarks.support.environment import Setting

    documents = corpus.documents(limit=int(os.environ.get("BENCH_DOCUMENTS", "300")))
    folder = Path(os.environ["RAGSITE_DATA"])
    with Server(folder, free_port()) as server, Setting(server.address) as setting:
        print(f"{len(documents)} documents from {corpus.origin()}, {os.cpu_count()} cores\n", flush=True)
        texts = [document["text"] for document in documents]
        targets.measure(setting)
        first_load, live = (int(os.environ.get(name, default)) for name, default in _REMOTE)
        if os.environ.get("BENCH_INGESTION", "1") != "0":
            jobs.measure(setting, documents, "short")
            jobs.measure(setting, corpus.longer(documents), "long")
        else:
            jobs.job_of(setting, setting.source, documents)  # the documents that are searched
        if first_load:
            remote.measure(setting, texts, first_load=first_load, live=live)
        if fill := int(os.environ.get("BENCH_FILL", "5000")):
            http.measure(setting, corpus.questions(limit=200), fill=fill, texts=texts, folder=folder)
            http.measure_row_level_security(setting, corpus.questions(limit=400), folder, (free_port(), free_port()))


if __name__ == "__main__":
    main()
