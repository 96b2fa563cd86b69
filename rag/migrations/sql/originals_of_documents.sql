-- Small files are in their rows. So those who may query a source read the rows of documents that are found only, and not
-- those of files that are still in a queue, have failed or were replaced.
DROP POLICY readers_select ON rag_original;
DO $$
DECLARE
    -- What the transaction declared, as for chunks.
    condition CONSTANT text := $sql$(deleted_at IS NULL AND (
        (visibility = 'public' AND organization_id = ANY((SELECT rag_open_organizations())::uuid[]))
        OR organization_id = ANY((SELECT rag_whole_organizations())::uuid[])
        OR id IN (SELECT rag_listed_sources())))$sql$;
BEGIN
    EXECUTE format(
        'CREATE POLICY readers_select ON rag_original FOR SELECT TO ragsite_reader '
        'USING ((SELECT true FROM rag_datasource WHERE id = source_id AND %s) AND EXISTS (SELECT FROM rag_document '
        'WHERE original_id = rag_original.id AND deleted_at IS NULL))', condition
    );
END $$;
