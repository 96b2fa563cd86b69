"""The version of a data source or document, so that nobody overwrites a change that they have not seen."""

from rag.errors import VersionChanged
from rag.models import DataSource, Document


def version_of(row: DataSource | Document) -> str:
    """Return a text that differs after each change of the row."""
    if isinstance(row, Document):
        return row.revision.hex
    return f"{int(row.updated_at.timestamp() * 1_000_000):x}"


def check_version(row: DataSource | Document, expected: frozenset[str] | None) -> None:
    """Check that a row, which the calling code has locked, is still in one of the expected versions.

    Args:
        row: The source or document.
        expected: The versions that the client knows; None to accept any.

    Raises:
        VersionChanged: If it has another version.
    """
    if expected is not None and version_of(row) not in expected:
        raise VersionChanged
