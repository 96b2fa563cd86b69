"""The second fence: roles that own nothing, and row-level security on whatever belongs to a source or to a person
(docs/architecture.md). The access rule is stated a second time, in SQL; tests hold the two against each other."""

from importlib import import_module
from pathlib import Path

from django.db import migrations

OPEN = "(SELECT rag_open_sources('view'))::uuid[]"
# Who reads a source does not watch its jobs.
OPEN_TO_WRITE = "(SELECT rag_open_sources('write'))::uuid[]"
# What passages are read or written for.
OPEN_NOW = "(SELECT rag_open_sources(coalesce(nullif(current_setting('rag.action', true), ''), 'query')))::uuid[]"
ME = "(SELECT nullif(current_setting('rag.user', true), '')::uuid)"

READERS = {
    "rag_datasource": f"id = ANY({OPEN})",
    "rag_document": f"source_id = ANY({OPEN})",
    "rag_original": f"source_id = ANY({OPEN_TO_WRITE})",
    "rag_ingestionjob": f"source_id = ANY({OPEN_TO_WRITE})",
    "rag_ingestiondocument": f"source_id = ANY({OPEN_TO_WRITE})",
    "rag_reembedding": f"source_id = ANY({OPEN_TO_WRITE})",
    "rag_chunk": f"source_id = ANY({OPEN_NOW})",
    **{f"rag_embedding{dimensions}": f"source_id = ANY({OPEN_NOW})" for dimensions in (384, 768, 1536, 3072)},
    "rag_searchrecord": f"user_id = {ME}",
    "rag_conversation": f"user_id = {ME}",
    "rag_conversationmessage": "conversation_id IN (SELECT id FROM rag_conversation)",
    # For workers and the admin alone.
    "rag_goldenquestion": None,
    "rag_qualityrun": None,
}


def _policies() -> str:
    statements = []
    for table, visible in READERS.items():
        statements += [
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
            # The function that says which sources are open is the owner's, and looks at all of them.
            f"ALTER TABLE {table} {'NO ' if table == 'rag_datasource' else ''}FORCE ROW LEVEL SECURITY",
            f"CREATE POLICY workers ON {table} TO ragsite_worker USING (true)",
        ]
        if table == "rag_datasource":  # a new one is in nobody's list yet
            statements += [
                f"CREATE POLICY readers_{command} ON {table} FOR {command} TO ragsite_reader USING ({visible})"
                for command in ("SELECT", "UPDATE", "DELETE")
            ]
            statements.append(
                f"CREATE POLICY readers_insert ON {table} FOR INSERT TO ragsite_reader "
                "WITH CHECK (organization_id = ANY((SELECT rag_creating_in())::uuid[]))"
            )
        elif visible:
            statements.append(f"CREATE POLICY readers ON {table} TO ragsite_reader USING ({visible})")
    return ";\n".join(statements)


def _no_policies() -> str:
    names = ("workers", "readers", "readers_select", "readers_update", "readers_delete", "readers_insert")
    return ";\n".join(
        statement
        for table in READERS
        for statement in (
            *(f"DROP POLICY IF EXISTS {name} ON {table}" for name in names),
            f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY",
            f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY",
        )
    )


def _file(name: str) -> str:
    return (Path(__file__).parent / "sql" / name).read_text()


class Migration(migrations.Migration):
    dependencies = [
        ("rag", "0021_sources_without_texts"),
        ("orgs", "0009_history_and_deletion"),
        ("accounts", "0003_plain_addresses"),
    ]

    operations = [
        migrations.RunSQL(_file("roles.sql"), _file("no_roles.sql")),
        # Of the audit trail less: it is only added to.
        migrations.RunSQL(import_module("accounts.migrations.0002_audit_trail").RIGHTS, migrations.RunSQL.noop),
        migrations.RunSQL(_file("open_sources.sql"), "DROP FUNCTION rag_open_sources, rag_creating_in"),
        migrations.RunSQL(_policies(), _no_policies()),
    ]
