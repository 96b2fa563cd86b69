"""Ingestion under real faults: processes are killed, servers crash, queues are flushed (docs/reliability.md).

Nothing of the product is mocked or hooked. A worker is stopped at a known stage by what it waits for: a locked row, or
an embedding endpoint that does not answer.
"""
