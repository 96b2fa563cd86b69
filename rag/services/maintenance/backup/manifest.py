"""What the manifest of a backup says about its content."""

from collections.abc import Mapping, Sequence
from typing import TypedDict


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


# What restoring an archive needs.
REQUIRED = {"format", "created_at", "version", "migrations", "tables", "sequences", "originals"}
