-- Those who may query a source may also read the rows of its original files: a citation shows the page of a PDF.
-- Before, only those who may send documents to the source could.
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
        'USING ((SELECT true FROM rag_datasource WHERE id = source_id AND %s))', condition
    );
END $$;
