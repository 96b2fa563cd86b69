-- The token signatures of these chunks, as far as the transaction's identity may read the chunks. Their sources are
-- checked once; a policy checked the source of each chunk.
CREATE FUNCTION rag_read_signatures(chunk_ids uuid[]) RETURNS TABLE (chunk_id uuid, signatures bytea)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    permitted uuid[];
BEGIN
    permitted := rag_permitted_sources(ARRAY(SELECT DISTINCT source_id FROM rag_chunk WHERE id = ANY(chunk_ids)));
    RETURN QUERY
    SELECT stored.chunk_id, stored.signatures FROM rag_chunk AS chunk
    JOIN rag_chunktokensignatures AS stored ON stored.chunk_id = chunk.id
    WHERE chunk.id = ANY(chunk_ids) AND chunk.source_id = ANY(permitted);
END $$;

-- The owner of these tables is subject to their policies; workers are not.
GRANT CREATE ON SCHEMA public TO ragsite_worker;
ALTER FUNCTION rag_read_signatures(uuid[]) OWNER TO ragsite_worker;
REVOKE CREATE ON SCHEMA public FROM ragsite_worker;
