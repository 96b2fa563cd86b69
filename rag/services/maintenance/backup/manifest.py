"""What the manifest of a backup says about its content."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, TypeGuard


class TableContent(TypedDict):
    """The bytes of a table in the archive, and their SHA-256."""

    bytes: int
    sha256: str


class TableEntry(TableContent):
    """A table with its columns and the number of its rows."""

    name: str
    columns: Sequence[str]
    rows: int


class FileTotals(TypedDict):
    """All original files together: their number, bytes, and one hash of the hashes."""

    count: int
    bytes: int
    sha256: str


class OriginalFiles(FileTotals):
    """All original files, and how many the storage had lost or changed."""

    lost: int


class TablesManifest(TypedDict):
    """What the manifest says about the database.

    Attributes:
        postgresql: The version of the server as one number, such as 180004.
        extensions: Their versions by name.
        migrations: The applied ones, as app and name.
        sequences: Their last values by name.
        excluded_secrets: The settings that are not in the backup.
        secret_key_fingerprint: What SECRET_KEY is recognised by.
    """

    format: int
    version: str
    created_at: str
    postgresql: int
    extensions: Mapping[str, str]
    migrations: Sequence[tuple[str, str]]
    tables: Sequence[TableEntry]
    sequences: dict[str, int]
    excluded_secrets: Sequence[str]
    secret_key_fingerprint: str


class Manifest(TablesManifest):
    """The last entry but one of an archive; the last is its hash."""

    originals: OriginalFiles


_TABLE: Mapping[str, type] = {"name": str, "columns": list, "rows": int, "bytes": int, "sha256": str}
_FILES: Mapping[str, type] = {"count": int, "bytes": int, "sha256": str, "lost": int}
# What restoring an archive needs.
_REQUIRED: Mapping[str, type] = {
    "format": int,
    "created_at": str,
    "version": str,
    "migrations": list,
    "tables": list,
    "sequences": dict,
    "originals": dict,
}


def is_manifest(value: object) -> TypeGuard[Manifest]:
    """Return whether a value from JSON has what restoring an archive needs, each part of its kind."""
    if not _has(value, _REQUIRED) or not _has(value["originals"], _FILES):
        return False
    return (
        all(_has(table, _TABLE) and _are_texts(table["columns"]) for table in value["tables"])
        and all(isinstance(key, list) and len(key) == 2 and _are_texts(key) for key in value["migrations"])
        and all(type(last) is int for last in value["sequences"].values())
    )


def _has(value: object, kinds: Mapping[str, type]) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and all(type(value.get(name)) is kind for name, kind in kinds.items())


def _are_texts(values: Sequence[object]) -> bool:
    return all(isinstance(value, str) for value in values)
