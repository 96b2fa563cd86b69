"""Writes thousands of sources and grants with one statement each, without the triggers that would run for each row."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

from accounts.models import User
from orgs.models import Organization
from rag.models import DataSource, Grant
from ragsite.postgres import identity


@contextmanager
def without_triggers() -> Iterator[None]:
    """Write without triggers and checks of foreign keys: the block has to write what triggers would."""
    with identity.run_as(identity.OWNER), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield
        cursor.execute("SET LOCAL session_replication_role = origin")  # for the rest of an outer transaction


def source_slugs(count: int) -> list[str]:
    return [f"source-{number}" for number in range(count)]


def write_sources(organization: Organization, count: int, *, readers: dict[int, User], **fields: Any) -> None:
    """Write sources of an organisation.

    Args:
        organization: A new organisation, which has no sources.
        count: The number of sources.
        readers: Users to whom the sources are granted, by the distance of the granted ones: 1 for all, 10 for every
            tenth. Each distance divides the greater ones.
        fields: Fields of all sources.
    """
    firsts: dict[int, DataSource] = {}  # by how many readers the source has
    for number in {0, *readers}:
        audience = [user for distance, user in readers.items() if number % distance == 0]
        if number < count and len(audience) not in firsts:
            slug = f"source-{number}"
            source = DataSource.objects.create(organization=organization, slug=slug, name=slug, **fields)
            Grant.objects.bulk_create([Grant(source=source, user=user) for user in audience])
            firsts[len(audience)] = source
    with without_triggers():
        _copy_sources(firsts, count, list(readers))
        _copy_grants(organization, list(firsts.values()))


def column_names(table: str, *without: str) -> str:
    """Return the columns of a table, apart from these, for a statement."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped "
            "AND attname <> ALL(%s) AND attgenerated = ''",
            [table, list(without)],
        )
        return ", ".join(f'"{name}"' for (name,) in cursor.fetchall())


def _copy_sources(firsts: dict[int, DataSource], count: int, distances: Sequence[int]) -> None:
    """Write the sources that do not exist yet, each with the access list of the first one that has as many readers."""
    names = column_names("rag_datasource", "id", "slug", "name")
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO rag_datasource (id, slug, name, {names}) SELECT uuidv7(), slug, slug, {names} FROM ("
            "SELECT 'source-' || number AS slug, "
            "(SELECT count(*) FROM unnest(%s::integer[]) AS distance WHERE number %% distance = 0) AS audience "
            "FROM generate_series(0, %s) AS number ORDER BY number) AS numbered "
            f"JOIN (SELECT unnest(%s::uuid[]) AS first, unnest(%s::integer[]) AS audience) AS firsts USING (audience) "
            f"JOIN (SELECT id AS first, {names} FROM rag_datasource) AS source USING (first) "
            "WHERE slug <> ALL(%s) ORDER BY substr(slug, 8)::integer",
            [
                list(distances), count - 1, [source.pk for source in firsts.values()], list(firsts),
                [source.slug for source in firsts.values()],
            ],
        )  # fmt: skip


def _copy_grants(organization: Organization, firsts: Sequence[DataSource]) -> None:
    names = column_names("rag_grant", "id", "source_id")
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO rag_grant (id, source_id, {names}) SELECT uuidv7(), other.id, {names} FROM rag_grant "
            "JOIN rag_datasource AS source ON source.id = source_id AND source.id = ANY(%s) "
            "JOIN rag_datasource AS other ON other.access_list_id = source.access_list_id "
            "WHERE other.organization_id = %s AND other.id <> ALL(%s)",
            [[source.pk for source in firsts], organization.pk, [source.pk for source in firsts]],
        )
