"""Archives that nobody's backup has written: each is refused, and none costs much memory."""

import hashlib
import io
import json
import tarfile
import zlib
from pathlib import Path
from typing import Any

import pytest

from rag.services.maintenance.backup.archive import ArchiveReader, InvalidArchive

MANIFEST: dict[str, Any] = {
    "format": 1,
    "created_at": "2026-01-01",
    "version": "1",
    "migrations": [],
    "tables": [],
    "sequences": {},
    "originals": {"count": 0, "bytes": 0, "sha256": hashlib.sha256().hexdigest(), "lost": 0},
}


def write(path: Path, *entries: tuple[tarfile.TarInfo, bytes], manifest: bytes | None = None) -> Path:
    content = json.dumps(MANIFEST).encode() if manifest is None else manifest
    last = [("manifest.json", content), ("manifest.sha256", hashlib.sha256(content).hexdigest().encode())]
    with tarfile.open(path, "w") as tar:
        for entry, data in [*entries, *((tarfile.TarInfo(name), data) for name, data in last)]:
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return path


def named(name: str, **values: Any) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    for field, value in values.items():
        setattr(entry, field, value)
    return entry


@pytest.mark.parametrize(
    "entry",
    [
        named("originals/x", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        named("originals/x", type=tarfile.LNKTYPE, linkname="../../etc/passwd"),
        named("originals/x", type=tarfile.LNKTYPE, linkname="manifest.json"),
        named("originals/x", type=tarfile.CHRTYPE),
        named("originals/x", type=tarfile.FIFOTYPE),
        named("originals", type=tarfile.DIRTYPE),
    ],
    ids=lambda entry: f"{entry.type!r} {entry.linkname}",
)
def test_only_ordinary_files_are_read(tmp_path: Path, entry: tarfile.TarInfo) -> None:
    path = write(tmp_path / "backup", (entry, b""))
    with pytest.raises(InvalidArchive, match="not an ordinary file"):
        ArchiveReader(path)


@pytest.mark.parametrize(
    "kind",
    [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_SPARSE],
)
def test_headers_within_headers_are_refused(tmp_path: Path, kind: bytes) -> None:
    """tarfile would call itself for each, and read their contents into memory."""
    entries = [(named("database/x/000001", type=kind), b"x\0") for _ in range(1_000)]
    path = write(tmp_path / "backup", *entries)
    with pytest.raises(InvalidArchive, match="not an ordinary file"):
        ArchiveReader(path)


@pytest.mark.parametrize("name", ["../x", "/etc/cron.d/x", "originals/../../x", "originals/x", "database", "x/y"])
def test_other_paths_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidArchive):
        ArchiveReader(write(tmp_path / "backup", (named(name), b"x"))).verify()


@pytest.mark.parametrize(
    "manifest",
    [b"", b"[]", b"1", b"{}", b'{"format": 1}', b"[" * 500_000, b"\xff", b'{"format": ' + b"9" * 5_000 + b"}"],
    ids=lambda content: repr(content[:20]),
)
def test_manifests_that_are_none_are_refused(tmp_path: Path, manifest: bytes) -> None:
    with pytest.raises(InvalidArchive):
        ArchiveReader(write(tmp_path / "backup", manifest=manifest))


@pytest.mark.parametrize(
    "part",
    [
        {"migrations": 1},
        {"migrations": [["rag"]]},
        {"migrations": [["rag", 1]]},
        {"tables": None},
        {"tables": [{}]},
        {"tables": [{"name": [], "columns": [], "rows": 0, "bytes": 0, "sha256": ""}]},
        {"tables": [{"name": "x", "columns": [{}], "rows": 0, "bytes": 0, "sha256": ""}]},
        {"tables": [{"name": "x", "columns": [], "rows": "0", "bytes": 0, "sha256": ""}]},
        {"sequences": []},
        {"sequences": {"x": "1"}},
        {"originals": {}},
        {"originals": {**MANIFEST["originals"], "lost": "1"}},
        {"created_at": 1},
    ],
    ids=repr,
)
def test_manifests_with_parts_of_another_kind_are_refused(tmp_path: Path, part: dict[str, Any]) -> None:
    path = write(tmp_path / "backup", manifest=json.dumps({**MANIFEST, **part}).encode())
    with pytest.raises(InvalidArchive, match="not one of ragsite"):
        ArchiveReader(path)


def test_the_format_of_a_newer_version_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArchive, match="format 2"):
        ArchiveReader(write(tmp_path / "backup", manifest=b'{"format": 2, "tables": 1}'))


def test_a_compressed_table_is_read_in_small_pieces(tmp_path: Path) -> None:
    bomb = zlib.compress(bytes(40 * 2**20), 9)
    assert len(bomb) < 2**18
    path = write(tmp_path / "backup", (named("database/rag_document/000001"), bomb))
    sizes = {table: [len(piece) for piece in rows] for table, rows in ArchiveReader(path).tables()}
    assert (sum(sizes["rag_document"]), max(sizes["rag_document"])) == (40 * 2**20, 256 * 1024)


def test_a_table_that_is_not_compressed_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "backup", (named("database/rag_document/000001"), b"not compressed"))
    for _, rows in ArchiveReader(path).tables():
        with pytest.raises(InvalidArchive, match="decompressed"):
            list(rows)


@pytest.mark.parametrize("content", [b"", b"x" * 2_000, b"\0" * 10_240])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "backup").write_bytes(content)
    with pytest.raises(InvalidArchive):
        ArchiveReader(tmp_path / "backup")
