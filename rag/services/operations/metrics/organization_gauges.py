"""The gauges of /metrics about what organisations store, and their quotas."""

from collections.abc import Iterator

from rag.models import Usage

from .gauge import Gauge

# How many organisations have labels of their own: those with the most chunks.
_MAX_ORGANIZATIONS = 100
_STORED = (
    ("chunks", f"Chunks that the organisation stores. Only the {_MAX_ORGANIZATIONS} organisations with most chunks."),
    ("bytes", "Bytes that the organisation stores, in texts and files."),
    ("max_chunks", "The quota: the largest number of chunks that the organisation may store."),
    ("max_bytes", "The quota: the largest number of bytes that the organisation may store."),
)


def collect_organization_gauges() -> Iterator[Gauge]:
    """Yield the gauges. Organisations without a quota are left out of those of quotas."""
    columns = ("organization__slug", "chunks", "bytes", "organization__max_chunks", "organization__max_bytes")
    usage_rows = list(Usage.objects.order_by("-chunks", "pk").values_list(*columns)[:_MAX_ORGANIZATIONS])
    for column, (name, help_text) in enumerate(_STORED, start=1):
        values = {row[0]: float(row[column]) for row in usage_rows if row[column] is not None}
        yield Gauge(f"ragsite_organization_{name}", help_text, "organization", values)
