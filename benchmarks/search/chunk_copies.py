"""Copies chunks within the database, which takes a fraction of the time that writing them takes."""

from django.db import connection

from benchmarks.search.bulk_rows import column_names, without_triggers
from orgs.models import Organization

# The tables of chunks, and their columns that the copies have values of their own for.
_TABLES = {
    "rag_chunk": ("id", "source_id", "document_id", "position"),
    "rag_embedding384": ("chunk_id", "source_id", "document_id"),
    "rag_chunkterms": ("chunk_id", "source_id", "document_id"),
    "rag_chunktokensignatures": ("chunk_id",),
}
# What triggers would add up row by row: the chunks of each source, then those of each access list.
_STATISTICS = (
    "INSERT INTO rag_sourceconfig (source_id, config, chunks) SELECT new_source, config, count(*) FROM copied "
    "JOIN rag_chunkterms ON chunk_id = new_chunk GROUP BY new_source, config",
    "INSERT INTO rag_sourceterm (source_id, term, chunks) SELECT new_source, term, count(*) FROM copied "
    "JOIN rag_chunkterms ON chunk_id = new_chunk, unnest(terms) AS term GROUP BY new_source, term",
    *(
        f"INSERT INTO rag_organization{kind} (organization_id, access_list_id, {kind}, chunks) "
        f"SELECT organization_id, access_list_id, {kind}, sum(chunks) FROM rag_source{kind} "
        "JOIN rag_datasource ON id = source_id WHERE source_id IN (SELECT new_source FROM copied) "
        f"GROUP BY organization_id, access_list_id, {kind}"
        for kind in ("config", "term")
    ),
)


def copy_chunks(template: Organization, organization: Organization, *, sources: int, chunks: int) -> None:
    """Divide copies of the template's first chunks among new sources, with one document in each of these.

    Args:
        template: The organisation whose chunks are copied.
        organization: The organisation with the new sources, `source-0` and so on.
        sources: How many sources it has.
        chunks: How many chunks are copied.
    """
    used = sorted({number * sources // chunks for number in range(chunks)})
    with without_triggers(), connection.cursor() as cursor:
        cursor.execute(
            "CREATE TEMPORARY TABLE target ON COMMIT DROP AS SELECT row_number() OVER (ORDER BY number) AS used, "
            "source.id AS new_source, uuidv7() AS new_document FROM unnest(%s::integer[]) AS number "
            "JOIN rag_datasource AS source ON slug = 'source-' || number AND organization_id = %s",
            [used, organization.pk],
        )
        _copy_documents(template)
        cursor.execute(
            "CREATE TEMPORARY TABLE copied ON COMMIT DROP AS SELECT chunk.id AS old_chunk, uuidv7() AS new_chunk, "
            "new_source, new_document, row_number() OVER (PARTITION BY used ORDER BY id) AS new_position FROM ("
            "SELECT id, 1 + (row_number() OVER (ORDER BY id) - 1) * %s / %s AS used FROM rag_chunk "
            "WHERE source_id IN (SELECT id FROM rag_datasource WHERE organization_id = %s) ORDER BY id LIMIT %s"
            ") AS chunk JOIN target USING (used)",
            [len(used), chunks, template.pk, chunks],
        )
        cursor.execute("ANALYZE copied")
        for table, keys in _TABLES.items():
            others = column_names(table, *keys)
            new = ("new_chunk", "new_source", "new_document", "new_position")[: len(keys)]
            cursor.execute(
                f"INSERT INTO {table} ({', '.join((*keys, others))}) SELECT {', '.join((*new, others))} "
                f"FROM copied JOIN {table} ON {keys[0]} = old_chunk"
            )
        for statement in _STATISTICS:
            cursor.execute(statement)


def _copy_documents(template: Organization) -> None:
    names = column_names("rag_document", "id", "source_id", "path", "revision", "chunk_count")
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO rag_document (id, source_id, path, revision, chunk_count, {names}) "
            f"SELECT new_document, new_source, 'copy', uuidv7(), 1, {names} FROM target, ("
            "SELECT document.* FROM rag_document AS document JOIN rag_datasource AS source ON source.id = source_id "
            "WHERE organization_id = %s LIMIT 1) AS document",
            [template.pk],
        )
