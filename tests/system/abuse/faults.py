"""Faults of the servers that the product needs. Each fault lasts as long as its `with` block."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

import psycopg

from .installation import Product

Fault = Callable[[Product], AbstractContextManager[None]]


@contextlib.contextmanager
def postgres_stopped(product: Product) -> Iterator[None]:
    """Shut PostgreSQL down in order (`fast`: it ends sessions immediately) and start it after the block."""
    product.stop_postgres()
    try:
        yield
    finally:
        product.start_services()


@contextlib.contextmanager
def postgres_crashed(product: Product) -> Iterator[None]:
    """Send SIGKILL to all its processes; it recovers from its log while requests come in."""
    product.crash_postgres()
    yield


@contextlib.contextmanager
def documents_locked(product: Product) -> Iterator[None]:
    """Lock a table, as a schema change that does not finish would."""
    with psycopg.connect(os.environ["DATABASE_URL"]) as session:
        session.execute("LOCK TABLE rag_document IN ACCESS EXCLUSIVE MODE")
        yield


@contextlib.contextmanager
def redis_stopped(product: Product) -> Iterator[None]:
    product.stop_redis()
    try:
        yield
    finally:
        product.start_services()


@contextlib.contextmanager
def redis_flushed(product: Product) -> Iterator[None]:
    product.flush_redis()
    yield


@contextlib.contextmanager
def embeddings_hang(product: Product) -> Iterator[None]:
    product.embeddings.stall.clear()
    try:
        yield
    finally:
        product.embeddings.stall.set()


@contextlib.contextmanager
def language_model_hangs(product: Product) -> Iterator[None]:
    product.language_model.stall.clear()
    try:
        yield
    finally:
        product.language_model.stall.set()


@contextlib.contextmanager
def both_stopped(product: Product) -> Iterator[None]:
    """Stop Redis, then PostgreSQL; PostgreSQL starts first."""
    product.stop_redis()
    product.stop_postgres()
    try:
        yield
    finally:
        product.start_services()
        time.sleep(1)


FAULTS: dict[str, Fault] = {
    "PostgreSQL stopped": postgres_stopped,
    "PostgreSQL crashed": postgres_crashed,
    "a table is locked": documents_locked,
    "Redis stopped": redis_stopped,
    "Redis flushed": redis_flushed,
    "both stopped": both_stopped,
    "embedding endpoint hangs": embeddings_hang,
    "language model hangs": language_model_hangs,
}
