"""The product with a database user that is not a superuser (docs/operations/install.md)."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

ROOT = Path(__file__).parents[4]
# As documented, but without passwords of the roles that only a web server logs in as.
GRANTS = """
CREATE ROLE ragsite_reader LOGIN;
CREATE ROLE ragsite_sign_in LOGIN;
CREATE ROLE ragsite_staff LOGIN;
CREATE ROLE ragsite_worker NOLOGIN;
CREATE ROLE {user} LOGIN PASSWORD 'plain';
GRANT ragsite_reader, ragsite_sign_in, ragsite_staff, ragsite_worker TO {user} WITH INHERIT FALSE;
CREATE DATABASE {user} OWNER {user};
"""
SCRIPT = """
import uuid
from django.db import connection
from orgs.models import Membership, Organization
from accounts.models import User
from rag.models import DataSource, EmbeddingModel
from ragsite.postgres import identity
from tests.support.factories import ingest_text
home = Organization.objects.create(name="home", slug="home")
user = User.objects.create_user("reader@home.example", "x")
Membership.objects.create(user=user, organization=home)
source = DataSource.objects.create(
    organization=home, slug="s", name="s", embedding_model=EmbeddingModel.objects.default()
)
ingest_text(source, "a", "Zebras have stripes.")
with connection.cursor() as cursor:
    cursor.execute("SELECT current_user, session_user")
    print(*cursor.fetchone())
for who in (identity.WORKER, identity.ANONYMOUS, identity.OWNER, identity.Identity("ragsite_reader", user.pk)):
    with identity.run_as(who):
        print(DataSource.objects.count(), source.chunks.count())
from orgs.access.caller import Caller
from rag.services.queries.source_selection import SourceSelection
from rag.services.queries import permitted_queries
from rag.types import Question
caller = Caller(user)
with identity.run_as(caller.database_identity):
    found = permitted_queries.search(Question("zebras", top_k=3), SourceSelection(caller=caller))
    print([passage.path for passage in found.passages])
from rag.providers import provider_factory
store = provider_factory.chunk_store()
store.build_vector_index(384)
print(store.vector_indexes()[0].is_built)
with identity.run_as(identity.OWNER), connection.cursor() as cursor:
    cursor.execute(
        "SELECT proname FROM pg_proc, aclexplode(coalesce(proacl, acldefault('f', proowner)))"
        " WHERE pronamespace = 'public'::regnamespace AND prosecdef AND proname ~ '^(rag|orgs)_'"
        " AND prorettype <> 'trigger'::regtype AND grantee IN (0, 'ragsite_sign_in'::regrole)"
    )
    print(cursor.fetchall())
"""


@pytest.fixture
def url() -> Iterator[str]:
    superuser_url = os.environ["DATABASE_URL"]
    user = f"plain_{os.getpid()}"
    with psycopg.connect(superuser_url, autocommit=True) as server:
        for statement in GRANTS.format(user=user).strip().split(";\n"):
            try:
                server.execute(statement.rstrip(";"))
            except psycopg.errors.DuplicateObject:
                continue  # roles are shared by all databases of the server
        address = urlsplit(superuser_url)
        user_url = address._replace(netloc=f"{user}:plain@", path=f"/{user}").geturl()
        try:
            database_url = superuser_url.replace(f"{address.path}?", f"/{user}?")
            with psycopg.connect(database_url, autocommit=True) as database:
                database.execute("CREATE EXTENSION vector")
            yield user_url
        finally:
            server.execute(f"DROP DATABASE IF EXISTS {user} WITH (FORCE)")
            server.execute(f"DROP ROLE {user}")


def test_migrations_and_both_access_layers_work_without_a_superuser(url: str) -> None:
    environment = {**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "ragsite.settings"}
    subprocess.run([sys.executable, "manage.py", "migrate", "--verbosity=0"], cwd=ROOT, env=environment, check=True)
    process = subprocess.run(
        [sys.executable, "manage.py", "shell", "--no-imports", "-c", SCRIPT],
        cwd=ROOT,
        env=environment,
        check=False,
        capture_output=True,
        text=True,
    )
    user = urlsplit(url).username
    lines = [line for line in process.stdout.splitlines() if not line.startswith("{")]
    assert lines == [f"ragsite_worker {user}", "1 1", "0 0", "1 0", "1 1", "['a']", "True", "[]"], process.stderr
