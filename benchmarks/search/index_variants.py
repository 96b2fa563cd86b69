"""Compares indexes of the same clustered vectors: size, build, time and recall@10.

    python -m ragsite.embedded var/variants --throwaway python -m benchmarks.search.index_variants FOLDER

FOLDER keeps the vectors, so that the same ones can be measured on another server: with its address in DATABASE_URL,
only numpy and psycopg are needed. Where pgvectorscale is installed, its StreamingDiskANN is measured as well.

- half: HNSW of pgvector on half-precision vectors, as the product has it.
- bits: HNSW on one bit per dimension, whose nearest rows are ranked anew by their half-precision vectors.
- partitions: the table divided by organisation, with an index like `half` for each. Compared within one organisation, a
  tenth of all rows, and in all.
- diskann: StreamingDiskANN with its default settings, ranked anew by the index itself.
"""

import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psycopg
from numpy.typing import NDArray

COUNT, ORGANIZATIONS, QUESTIONS = int(os.environ.get("BENCH_VECTORS") or 200_000), 10, 100
_ORDER = "ORDER BY embedding <=> $1::halfvec(384) LIMIT 10"
_BITS = (
    "SELECT id FROM (SELECT id, embedding FROM half "
    "ORDER BY bits <~> binary_quantize($1::halfvec(384))::bit(384) LIMIT {0}) AS nearest "
    "ORDER BY embedding <=> $1::halfvec(384) LIMIT 10"
)
_HNSW = "USING hnsw (embedding halfvec_cosine_ops)"
# Name, statement, settings.
Variant = tuple[str, str, dict[str, str]]


def main(folder: Path) -> None:
    vectors, questions = _vectors(folder)
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as session:
        session.execute("SET maintenance_work_mem = '2GB'")
        session.execute("SET max_parallel_maintenance_workers = 2")
        session.execute("CREATE EXTENSION IF NOT EXISTS vector")
        _load(session, vectors)
        version = session.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
        server = session.info.server_version
        print(f"{COUNT:,} vectors, {len(questions)} questions, PostgreSQL {server}, pgvector {version}")
        with _built(session, "half", f"CREATE INDEX half_index ON half {_HNSW}"):
            _measure(session, vectors, questions, [_half(ef) for ef in (100, 200, 400, 1_000)])
            _measure(session, vectors, questions, [_half(ef, "organization = 3") for ef in (200, 1_000)], within=3)
        with _built(session, "bits", "CREATE INDEX bits_index ON half USING hnsw (bits bit_hamming_ops)"):
            _measure(session, vectors, questions, [_bits(count) for count in (100, 200, 400, 1_000)])
        if session.execute("SELECT name FROM pg_available_extensions WHERE name = 'vectorscale'").fetchone():
            session.execute("CREATE EXTENSION IF NOT EXISTS vectorscale")
            statement = "CREATE INDEX diskann_index ON half USING diskann (single vector_cosine_ops)"
            with _built(session, "diskann", statement):
                _measure(session, vectors, questions, [_diskann(size) for size in (50, 200, 1_000)])
        with _built(
            session, "partitions", *(f"CREATE INDEX ON part_{number} {_HNSW}" for number in range(ORGANIZATIONS))
        ):
            _measure(session, vectors, questions, [_partitions(ef) for ef in (100, 200, 400)])
            _measure(session, vectors, questions, [_partitions(ef, "organization = 3") for ef in (100, 200)], within=3)


def _half(ef_search: int, condition: str = "true") -> Variant:
    settings = {"hnsw.ef_search": str(ef_search), "hnsw.iterative_scan": "relaxed_order"}
    return f"half {ef_search} {condition}", f"SELECT id FROM half WHERE {condition} {_ORDER}", settings


def _bits(candidates: int) -> Variant:
    return f"bits {candidates}", _BITS.format(candidates), {"hnsw.ef_search": str(candidates)}


def _partitions(ef_search: int, condition: str = "true") -> Variant:
    statement = f"SELECT id FROM parts WHERE {condition} {_ORDER}"
    return f"partitions {ef_search} {condition}", statement, {"hnsw.ef_search": str(ef_search)}


def _diskann(list_size: int) -> Variant:
    settings = {"diskann.query_search_list_size": str(list_size), "diskann.query_rescore": str(list_size)}
    return f"diskann {list_size}", "SELECT id FROM half ORDER BY single <=> $1::vector(384) LIMIT 10", settings


def _vectors(folder: Path) -> tuple[NDArray[np.float16], NDArray[np.float32]]:
    """Return float16 (COUNT, 384) and float32 (QUESTIONS, 384), written to the folder by the first run."""
    files = folder / f"vectors-{COUNT}.npy", folder / "questions.npy"
    if not all(file.exists() for file in files):
        import django

        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "ragsite.settings")
        os.environ.setdefault("RAG_LOCAL", "1")
        from ragsite.postgres import identity

        identity.run_process_as(identity.OWNER)
        django.setup()
        from django.core.management import call_command

        from benchmarks.search.growth.synthetic import SyntheticChunks

        call_command("migrate", verbosity=0)
        folder.mkdir(parents=True, exist_ok=True)
        chunks = SyntheticChunks(COUNT, folder)
        np.save(files[0], chunks.vectors)
        np.save(files[1], chunks.question_vectors[:: len(chunks.question_vectors) // QUESTIONS][:QUESTIONS])
    return np.load(files[0]), np.load(files[1])


def _load(session: psycopg.Connection, vectors: NDArray[np.float16]) -> None:
    columns = "(id integer, organization integer, embedding halfvec(384))"
    session.execute("DROP TABLE IF EXISTS half, parts, loaded")
    session.execute(f"CREATE UNLOGGED TABLE loaded {columns}")
    with session.cursor().copy("COPY loaded FROM STDIN (FORMAT BINARY)") as copy:
        copy.write(b"PGCOPY\n\xff\r\n\0" + bytes(8))
        for number, vector in enumerate(vectors):
            fields = (number.to_bytes(4), (number % ORGANIZATIONS).to_bytes(4))
            halves = len(vector).to_bytes(2) + bytes(2) + vector.astype(">f2").tobytes()
            row = b"".join(len(field).to_bytes(4) + field for field in (*fields, halves))
            copy.write((3).to_bytes(2) + row)
        copy.write(b"\xff\xff")
    session.execute(
        "CREATE TABLE half AS SELECT *, binary_quantize(embedding)::bit(384) AS bits, embedding::vector(384) AS single "
        "FROM loaded"
    )
    session.execute(f"CREATE TABLE parts {columns} PARTITION BY LIST (organization)")
    for number in range(ORGANIZATIONS):
        session.execute(f"CREATE TABLE part_{number} PARTITION OF parts FOR VALUES IN ({number})")
    session.execute("INSERT INTO parts SELECT * FROM loaded")
    session.execute("ANALYZE half, parts")


@contextmanager
def _built(session: psycopg.Connection, name: str, *statements: str) -> Iterator[None]:
    """Build indexes, and drop them after the block."""
    started = time.perf_counter()
    for statement in statements:
        session.execute(statement)
    seconds = time.perf_counter() - started
    indexes = "FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid WHERE relnamespace = 'public'::regnamespace"
    row = session.execute(
        f"SELECT sum(pg_relation_size(indexrelid)) {indexes} AND relname ~ '^(half|bits|diskann|part)_.*(index|idx)$'"
    ).fetchone()
    print(f"{name}: built in {seconds:.0f} s, {(row[0] if row else 0) / COUNT:.0f} bytes per vector", flush=True)
    yield
    for (index,) in session.execute(f"SELECT relname {indexes} AND relname ~ '^(half|bits|diskann|part)_'").fetchall():
        session.execute(f'DROP INDEX "{index}"')


def _measure(
    session: psycopg.Connection,
    vectors: NDArray[np.float16],
    questions: NDArray[np.float32],
    variants: Sequence[Variant],
    *,
    within: int | None = None,
) -> None:
    """Print the median and 95th percentile in milliseconds, and recall@10; the variants alternate."""
    rows = np.arange(len(vectors)) if within is None else np.arange(within, len(vectors), ORGANIZATIONS)
    similarities = questions @ vectors[rows].astype(np.float32).T
    exact = [set(rows[np.argpartition(-line, 10)[:10]].tolist()) for line in similarities]
    times: dict[str, list[float]] = {name: [] for name, *_ in variants}
    hits = dict.fromkeys(times, 0)
    for question, nearest in zip(questions, exact, strict=True):
        text = "[" + ",".join(f"{value:.6g}" for value in question) + "]"
        for name, statement, settings in variants:
            for setting in {"enable_seqscan": "off", **settings}.items():
                session.execute("SELECT set_config(%s, %s, false)", setting)
            for is_counted in (False, True):  # the first execution reads what is not cached
                started = time.perf_counter()
                cursor = psycopg.RawCursor(session).execute(statement.encode(), [text])
                ids = {number for (number,) in cursor.fetchall()}
                if is_counted:
                    times[name].append((time.perf_counter() - started) * 1000)
                    hits[name] += len(ids & nearest)
    for name, measured in times.items():
        ordered = sorted(measured)
        p95 = ordered[int(0.95 * len(ordered))]
        recall = hits[name] / (10 * len(questions))
        print(f"  {name:32} {statistics.median(ordered):6.1f} {p95:6.1f} ms  recall {recall:.3f}", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
