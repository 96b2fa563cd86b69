"""Hostile SQL, as somebody could send it who finds a way to inject statements into a request.

Each statement runs through the connection of a web process, under the caller's identity.
"""

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, connection, connections

from ragsite.postgres import identity, role_connections
from ragsite.postgres.identity import Identity
from ragsite.postgres.statements import restricted_cursor

# None of these may succeed, whoever the caller is.
FORBIDDEN = (
    # Several statements at once.
    "SELECT 1; SELECT 2",
    "SELECT 1; SET ROLE ragsite_worker",
    # Another role.
    "SET ROLE ragsite_worker",
    "SET ROLE ragsite_staff",
    "SET LOCAL ROLE ragsite_sign_in",
    "SET SESSION AUTHORIZATION ragsite",
    "SELECT set_config('role', 'ragsite_worker', true)",
    "SELECT set_config('session_authorization', 'ragsite', true)",
    "GRANT ragsite_worker TO ragsite_reader",
    "ALTER ROLE ragsite_reader SUPERUSER",
    "ALTER ROLE ragsite_reader BYPASSRLS",
    "CREATE ROLE another SUPERUSER",
    # Row-level security and the tables themselves.
    "ALTER TABLE rag_chunk DISABLE ROW LEVEL SECURITY",
    "DROP POLICY readers ON rag_chunk",
    "CREATE POLICY everything ON rag_chunk USING (true)",
    "ALTER TABLE rag_chunk OWNER TO ragsite_reader",
    "DROP TABLE rag_chunk",
    "TRUNCATE rag_chunk",
    "CREATE TABLE public.another (id integer)",
    "CREATE FUNCTION public.another() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    "ALTER FUNCTION ragsite_identity() OWNER TO ragsite_reader",
    "CREATE OR REPLACE FUNCTION public.rag_visible_sources(action text) RETURNS uuid[] LANGUAGE sql AS 'SELECT NULL'",
    "CREATE EXTENSION dblink",
    # Secrets.
    "SELECT password FROM accounts_user",
    "SELECT * FROM accounts_user",
    "SELECT u FROM accounts_user AS u",
    "SELECT row_to_json(u) FROM accounts_user AS u",
    "SELECT hash FROM orgs_apikey",
    "SELECT * FROM orgs_apikey",
    "SELECT secret FROM rag_webhook",
    "SELECT old_secret FROM rag_webhook",
    "SELECT secret FROM rag_syncconnection",
    "SELECT * FROM django_session",
    "SELECT key FROM otp_totp_totpdevice",
    "SELECT token FROM otp_static_statictoken",
    "SELECT * FROM accounts_tokenfamily",
    "SELECT * FROM accounts_oauthcode",
    "SELECT * FROM accounts_oauthclient",
    "SELECT * FROM orgs_invitation",
    "SELECT * FROM axes_accessattempt",
    "SELECT * FROM accounts_auditevent",
    "SELECT * FROM django_admin_log",
    "SELECT * FROM ragsite_private.identity_key",
    "SELECT rolpassword FROM pg_authid",
    "SELECT passwd FROM pg_shadow",
    # The server's files and programs.
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_ls_dir('/')",
    "SELECT lo_import('/etc/passwd')",
    "COPY rag_chunk TO '/tmp/chunks'",
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "COPY rag_chunk FROM '/etc/passwd'",
    # Numbers of rows that nobody could use then, and how many there are.
    "SELECT nextval('orgs_membership_roles_id_seq')",
    "SELECT setval('orgs_membership_roles_id_seq', 2147483647)",
    "SELECT last_value FROM axes_accessattempt_id_seq",
    # Who may do what.
    "UPDATE accounts_user SET is_superuser = true",
    "INSERT INTO orgs_membership_roles (membership_id, role_id) SELECT m.id, r.id FROM orgs_membership m, orgs_role r",
    "UPDATE orgs_membership SET is_active = true",
    "DELETE FROM orgs_membership",
    "UPDATE orgs_role SET permissions = ARRAY['sources.manage']",
    "UPDATE orgs_team SET parent_id = NULL",
    "UPDATE orgs_organization SET is_active = true",
    "DELETE FROM accounts_user",
    "UPDATE rag_embeddingmodel SET base_url = 'http://attacker.example'",
    "UPDATE accounts_auditevent SET action = 'x'",
    "DELETE FROM accounts_auditevent",
    "TRUNCATE accounts_auditevent",
    "ALTER SYSTEM SET log_statement = 'all'",
    "SET session_replication_role = 'replica'",
)

# A superuser takes these from every role (ragsite/postgres/public_functions.sql).
PUBLIC = (
    "SELECT pg_cancel_backend(0)",
    "SELECT pg_terminate_backend(0)",
    "SELECT lo_creat(1)",
    "SELECT lo_create(0)",
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT lo_open(1, 1)",
)

# PostgreSQL lets every role do these. The cursor refuses them.
NOT_SENT = (
    "ALTER ROLE CURRENT_USER PASSWORD 'x'",
    "ALTER ROLE CURRENT_USER SET search_path = pg_temp",
    "/* */ ALTER ROLE CURRENT_USER RESET ALL",
    "-- \n ALTER ROLE CURRENT_USER RESET ALL",
    "DO $$ BEGIN ALTER ROLE CURRENT_USER PASSWORD 'x'; END $$",
    "CREATE FUNCTION pg_temp.lock_out() RETURNS void LANGUAGE sql AS $$ALTER ROLE CURRENT_USER PASSWORD 'x'$$",
    "SELECT query_to_xml('ALTER ROLE CURRENT_USER PASSWORD NULL', true, true, '')",
    "WITH changed AS (ALTER ROLE CURRENT_USER PASSWORD 'x') SELECT 1",
    "CREATE TEMPORARY TABLE evil (id integer)",
    "PREPARE evil AS SELECT 1",
    "LISTEN evil",
    "SET search_path = pg_temp",
    "COMMIT",
)
# These may succeed, but must neither show nor change anything foreign.
HOSTILE = (
    "SET row_security = off",
    "SET search_path = pg_temp, public",
    "SELECT set_config('search_path', 'pg_temp, public', false)",
    "SELECT set_config('rag.identity', '', true)",
    "CREATE TEMPORARY TABLE rag_grant AS SELECT 1 AS id",
    "UPDATE rag_datasource SET visibility = 'public', owner_id = (SELECT user_id FROM ragsite_identity())",
    "UPDATE rag_datasource SET organization_id = (SELECT organization_id FROM orgs_membership LIMIT 1)",
    "UPDATE orgs_apikey SET scopes = ARRAY['query', 'ingest', 'manage'], source_ids = NULL",
    "UPDATE orgs_apikey SET revoked_at = NULL, expires_at = NULL",
    "UPDATE orgs_apikey SET networks = NULL",
    "UPDATE orgs_apikey SET all_organizations = true",
    "UPDATE rag_grant SET expires_at = NULL",
    "DELETE FROM rag_grant",
    "DELETE FROM rag_datasource",
    "DELETE FROM rag_document",
    "DELETE FROM rag_chunk",
    "UPDATE rag_chunk SET text = 'changed'",
    "UPDATE rag_conversation SET user_id = (SELECT user_id FROM ragsite_identity())",
    "INSERT INTO rag_grant (id, source_id, user_id, granted_at) SELECT gen_random_uuid(), s.id, i.user_id, now() "
    "FROM rag_datasource s, ragsite_identity() i",
)
# Of each statement that may stay in the session: what shows that it has.
RESIDUE = {
    "SET search_path = pg_temp": "SELECT current_setting('search_path') LIKE 'pg_temp%'",
    "SET statement_timeout = 0": "SELECT current_setting('statement_timeout') = '0'",
    "SET rag.identity = 'x'": "SELECT coalesce(current_setting('rag.identity', true), '') <> ''",
    "CREATE TEMPORARY TABLE rag_conversation (id uuid)": "SELECT to_regclass('pg_temp.rag_conversation') IS NOT NULL",
    "PREPARE evil AS SELECT 1": "SELECT count(*) > 0 FROM pg_prepared_statements",
    "SELECT pg_advisory_lock(1)": "SELECT count(*) > 0 FROM pg_locks "
    "WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
    "LISTEN evil": "SELECT count(*) > 0 FROM pg_listening_channels()",
    "BEGIN ISOLATION LEVEL SERIALIZABLE": "SELECT current_setting('transaction_isolation') = 'serializable'",
}

_ANY_STATEMENT = re.compile(b"")


@contextmanager
def web_process(*, is_restricted: bool = False) -> Iterator[None]:
    """Connect as a web process does: with a login of its own for each role.

    The connection that the test had before is kept open, and is used again afterwards.

    Args:
        is_restricted: The cursor refuses statements that requests never send. Without it, PostgreSQL must refuse them.
    """
    earlier, permitted = connections["default"], restricted_cursor.PERMITTED_STATEMENT
    role_connections.close_all()
    identity.run_process_as(identity.ANONYMOUS)  # opens connections with logins of web processes
    if not is_restricted:
        restricted_cursor.PERMITTED_STATEMENT = _ANY_STATEMENT
    try:
        with identity.run_as(identity.ANONYMOUS):  # the test itself may run as somebody
            yield
    finally:
        restricted_cursor.PERMITTED_STATEMENT = permitted
        role_connections.close_all()
        identity.run_process_as(identity.OWNER)
        connections["default"] = earlier


def execute(statement: str) -> list[tuple[object, ...]] | None:
    """Return the rows of a statement; None if PostgreSQL refuses it."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall()) if cursor.description else []
    except DatabaseError:
        return None


def next_request() -> None:
    """Let the connection go to another request."""
    connection.close_if_unusable_or_obsolete()
    execute("SELECT 1")


def readable_rows(role: str = identity.READER_ROLE) -> Iterator[tuple[str, str]]:
    """Read every table as far as its columns may be read. Yields the table's name and a row as text."""
    assert execute("SELECT session_user, current_user") == [(role, role)]
    tables = execute(
        "SELECT c.relname, string_agg(quote_ident(a.attname), ', ') FROM pg_class c "
        "JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped "
        "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v', 'm', 'p') "
        "AND has_column_privilege(c.oid, a.attnum, 'SELECT') GROUP BY 1"
    )
    for table, columns in tables or []:
        for (row,) in execute(f"SELECT ROW({columns})::text FROM public.{table}") or []:
            yield str(table), str(row)


def forged_identities(caller: Identity, victim: uuid.UUID) -> Iterator[str]:
    """Values of rag.identity that claim to be the victim."""
    rows = execute("SELECT current_setting('rag.identity', true)")
    signed = str(rows[0][0]) if rows and rows[0][0] else f"{victim}||query|9999999999|1|{'0' * 64}"
    user, key, action, expires_at, process_id, signature = signed.split("|")
    yield f"{victim}|{key}|{action}|{expires_at}|{process_id}|{signature}"
    yield f"{victim}||query|9999999999|{process_id}|{'0' * 64}"
    yield f"{victim}|||||"
    yield str(victim)
    if caller.user:
        yield f"{user}|{key}|write|{expires_at}|{process_id}|{signature}"
        yield f"{user}||{action}|{expires_at}|{process_id}|{signature}" if key else f"|{key}|{action}|x|{process_id}|"
