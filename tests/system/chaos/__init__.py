"""Ingestion under faults that are real: processes are killed, servers crash, queues are emptied (docs/reliability.md).

Nothing of the product is replaced or hooked into. A worker is stopped at a precise place by what it waits for: a row
that somebody else has locked, an embedding endpoint that does not answer.
"""
