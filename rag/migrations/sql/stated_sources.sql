-- Statements about few sources: the application states which (ragsite/postgres/identity.py), and policies look up the
-- grants of these, instead of listing all sources that are granted to the caller.

-- Those of the stated sources that grants and ownership open to queries of the transaction's identity. Whoever states
-- others gets no more: each is checked.
CREATE FUNCTION rag_granted_of_stated() RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    stated CONSTANT text := current_setting('rag.sources', true);
BEGIN
    IF coalesce(stated, '') = '' THEN
        RETURN '{}';
    END IF;
    RETURN rag_granted_among((string_to_array(stated, ',')::uuid[])[1:200]);
END $$;

-- What may be queried may be viewed. The list of all is read only for a row that the conditions before do not open.
DO $$
DECLARE
    condition CONSTANT text := $sql$(deleted_at IS NULL AND (
        (visibility = 'public' AND organization_id = ANY((SELECT rag_open_organizations('view'))::uuid[]))
        OR organization_id = ANY((SELECT rag_whole_organizations('view'))::uuid[])
        OR id = ANY((SELECT rag_granted_of_stated())::uuid[])
        OR id IN (SELECT rag_listed_sources('view'))))
        OR CASE WHEN deleted_at IS NULL THEN false ELSE id = ANY((SELECT rag_visible_sources('view'))::uuid[]) END$sql$;
BEGIN
    EXECUTE format('ALTER POLICY readers_select ON rag_datasource USING (%s)', condition);
END $$;
