"""The README of each folder of SQL names every function whose current version is in this folder, and the file."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.operations import RunSQL

from .project import ROOT

FOLDERS = [Path(app, "migrations", "sql") for app in ("accounts", "orgs", "rag")]
ROW = re.compile(r"^\| `(\w+)` \| .+ \| `(\w+\.sql)` \|$", re.MULTILINE)
CREATION = re.compile(r"^\s*CREATE (?:OR REPLACE )?FUNCTION ([\w%$]+)\(", re.MULTILINE)
# Where `format` inserts a name, because a function is created for each of several tables.
PLACEHOLDER = re.compile(r"%\d\$s")


@pytest.mark.django_db
def test_the_file_with_the_current_version_of_each_function_is_named() -> None:
    files = list(files_in_order())
    expected = [(name, str(current_file(name, body, files))) for name, body in functions()]
    named = [
        (name, str(folder / file))
        for folder in FOLDERS
        for name, file in ROW.findall((ROOT / folder / "README.md").read_text())
    ]
    assert sorted(named) == sorted(expected)


def functions() -> list[tuple[str, str]]:
    """The names and bodies of the database's functions, without those of extensions."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT proname, prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND NOT EXISTS ("
            "SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = pg_proc.oid AND deptype = 'e')"
        )
        return list(cursor.fetchall())


def current_file(name: str, body: str, files: list[Path]) -> Path:
    """Return the last file that creates a function with this name and body."""
    return next(file for file in reversed(files) if creates(file, name, body))


def creates(file: Path, name: str, body: str) -> bool:
    text = (ROOT / file).read_text()
    for created in CREATION.findall(text):
        pattern = r"\w+".join(map(re.escape, PLACEHOLDER.split(created)))
        if re.fullmatch(pattern, name) and (PLACEHOLDER.search(created) or body in text):
            return True
    return False


def files_in_order() -> Iterator[Path]:
    """The files of SQL in the order in which migrations run them."""
    files = {file.read_text(): file.relative_to(ROOT) for folder in FOLDERS for file in (ROOT / folder).glob("*.sql")}
    graph = MigrationLoader(None).graph
    for key in dict.fromkeys(key for leaf in graph.leaf_nodes() for key in graph.forwards_plan(leaf)):
        for operation in graph.nodes[key].operations:
            if isinstance(operation, RunSQL) and operation.sql in files:
                yield files[operation.sql]
