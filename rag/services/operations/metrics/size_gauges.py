"""The gauges of /metrics about the sizes of the database and of the file system with the original files."""

from collections.abc import Iterator

from rag.services.operations import storage_sizes

from .gauge import Gauge


def collect_size_gauges() -> Iterator[Gauge]:
    """Yield the gauges; that of the file system only if its size is known."""
    measured = storage_sizes.measure_sizes()
    yield Gauge("ragsite_database_bytes", "Size of the database.", values={"": float(measured.database)})
    yield Gauge("ragsite_index_bytes", "Size of all indexes in the database.", values={"": float(measured.indexes)})
    if measured.disk_free is not None and measured.disk_total is not None:
        disk = {"free": float(measured.disk_free), "total": float(measured.disk_total)}
        yield Gauge("ragsite_disk_bytes", "The file system with the original files.", "part", disk)
