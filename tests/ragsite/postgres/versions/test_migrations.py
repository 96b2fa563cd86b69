"""Migrations after 0.1.0 take no long lock: requests and workers go on while `migrate` runs.

Statements that read or rewrite a whole table while they hold a lock against writes are refused for tables that grow
with documents or requests. New tables are empty, and small ones are listed. Python is refused, whose statements are not
known.
"""

import re
from collections.abc import Iterator, Sequence

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.operations import RunPython, RunSQL
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState

from accounts.management.commands.migrate import few_renderings

APPS = ("accounts", "orgs", "rag")
# The migrations that create an empty database.
FIRST = {"0001_schema", "0002_security"}
# A few thousand rows at most, of accounts, organisations, sources and settings.
SMALL = re.compile(
    r"^(accounts_(user(_groups|_user_permissions)?|tokenfamily)|auth_\w+|django_(content_type|migrations)|orgs_\w+"
    r"|rag_(datasource\w*|embeddingmodel|calibration|webhook|usage|sourcegrant|goldenquestion|qualityrun|reembedding)"
    r"|rag_(modeloutage|ingestionfairness))$"
)
# Each holds its lock while it reads or writes all rows of the table.
LONG_LOCKS = {
    "CREATE INDEX CONCURRENTLY instead": r'^CREATE (?:UNIQUE )?INDEX (?!CONCURRENTLY).*? ON (?:ONLY )?"?(\w+)"?',
    "NOT VALID, then VALIDATE CONSTRAINT": r'^ALTER TABLE (?:ONLY )?"?(\w+)"? .*?ADD CONSTRAINT (?!.*NOT VALID)',
    "a constraint in place of SET NOT NULL": r'^ALTER TABLE (?:ONLY )?"?(\w+)"? .*?SET NOT NULL',
    "a new column in place of another type": r'^ALTER TABLE (?:ONLY )?"?(\w+)"? .*?ALTER COLUMN \S+ (?:SET DATA )?TYPE',
    "a column without a check": r'^ALTER TABLE (?:ONLY )?"?(\w+)"? .*?ADD COLUMN (?!.*NOT VALID).*?CHECK \(',
    "no generated column": r'^ALTER TABLE (?:ONLY )?"?(\w+)"? .*?ADD COLUMN .*?(?:GENERATED ALWAYS AS \(|UNIQUE)',
    "a task that changes rows in batches": r'^(?:UPDATE|DELETE FROM) (?:ONLY )?"?(\w+)"?',
    "nothing that rewrites the table": r'^(?:VACUUM FULL|CLUSTER|REINDEX TABLE|TRUNCATE|LOCK TABLE) "?(\w+)"?',
}
_NEW_TABLE = re.compile(r'^CREATE TABLE (?:IF NOT EXISTS )?"?(\w+)"?')
# Migrations that hold such a lock on purpose, and why nobody can avoid it.
EXCEPTIONS: dict[str, str] = {}


def long_locks(statements: list[str]) -> Iterator[str]:
    """Yield an explanation for each statement that locks a large table for long."""
    new_tables: set[str] = set()
    for text in statements:
        for statement in _split(text):
            if created := _NEW_TABLE.match(statement):
                new_tables.add(created[1])
            for remedy, pattern in LONG_LOCKS.items():
                if (match := re.match(pattern, statement)) and match[1] not in new_tables and not SMALL.match(match[1]):
                    yield f"{match[1]}: {statement[:120]} ... ({remedy})"


def hidden_statements(operations: Sequence[Operation]) -> Iterator[str]:
    """Yield an explanation for each operation whose statements nobody can read here."""
    for operation in operations:
        if isinstance(operation, RunPython):
            yield "RunPython (SQL in place of it, or a task that changes rows in batches)"


def _split(text: str) -> Iterator[str]:
    """Yield the statements of a text, without comments and the bodies of functions."""
    without_bodies = re.sub(r"\$(\w*)\$.*?\$\1\$", "''", re.sub(r"--[^\n]*", "", text), flags=re.DOTALL)
    for statement in without_bodies.split(";"):
        if plain := " ".join(statement.split()):
            yield plain


@pytest.mark.django_db
def test_migrations_take_no_long_lock() -> None:
    executor = MigrationExecutor(connection)
    refused = {}
    state = ProjectState(real_apps=executor.loader.unmigrated_apps)
    with few_renderings():
        for migration, _ in executor.migration_plan(executor.loader.graph.leaf_nodes(), clean_start=True):
            app, name = migration.app_label, migration.name
            is_checked = app in APPS and name not in FIRST and f"{app} {name}" not in EXCEPTIONS
            with connection.schema_editor(collect_sql=True, atomic=migration.atomic) as editor:
                state = migration.apply(state, editor, collect_sql=True)
            statements = editor.collected_sql
            locks = [*long_locks(statements), *hidden_statements(migration.operations)]
            if is_checked and locks:
                refused[f"{app} {name}"] = locks
    assert refused == {}


@pytest.mark.parametrize(
    "statement",
    [
        'CREATE INDEX "x" ON "rag_chunk" ("path")',
        "CREATE UNIQUE INDEX x ON rag_document (path)",
        "ALTER TABLE rag_chunk ADD CONSTRAINT c CHECK (position >= 0)",
        'ALTER TABLE "rag_chunk" ADD CONSTRAINT "f" FOREIGN KEY ("a") REFERENCES "b" ("id") DEFERRABLE',
        "ALTER TABLE rag_chunk ALTER COLUMN path TYPE varchar(10)",
        'ALTER TABLE "rag_document" ALTER COLUMN "path" SET NOT NULL',
        "ALTER TABLE rag_document ADD COLUMN a text GENERATED ALWAYS AS (lower(path)) STORED",
        "UPDATE rag_chunk SET path = ''",
        "SELECT 1; -- a comment; with a semicolon\nDELETE FROM rag_chunk",
    ],
)
def test_a_long_lock_is_recognised(statement: str) -> None:
    assert len(list(long_locks([statement]))) == 1


def test_python_in_a_migration_is_refused() -> None:
    operations = [RunSQL("SELECT 1"), RunPython(lambda apps, editor: None)]
    assert len(list(hidden_statements(operations))) == 1


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE INDEX CONCURRENTLY x ON rag_chunk (path)"],
        ["CREATE TABLE rag_new (id int)", "CREATE INDEX x ON rag_new (id)", "UPDATE rag_new SET id = 1"],
        ["ALTER TABLE rag_chunk ADD CONSTRAINT c CHECK (position >= 0) NOT VALID"],
        ["ALTER TABLE rag_chunk ADD COLUMN note text NOT NULL DEFAULT ''"],
        ["UPDATE rag_embeddingmodel SET name = 'a'"],
        ["CREATE FUNCTION f() RETURNS void LANGUAGE sql AS $$ UPDATE rag_chunk SET path = ''; $$"],
    ],
)
def test_a_short_lock_is_allowed(statements: list[str]) -> None:
    assert list(long_locks(statements)) == []
