-- Qdrant has token vectors too, so a change of the signatures that they are made of is recorded as well: signatures may be
-- added to a chunk after its vector.
CREATE FUNCTION rag_record_signature_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO rag_indexchange (document_id)
    SELECT DISTINCT chunk.document_id FROM changed JOIN rag_chunk AS chunk ON chunk.id = changed.chunk_id;
    RETURN NULL;
END $$;

-- Chunks that are deleted with their signatures are recorded by the other triggers, which may be on or off.
DO $$
DECLARE
    are_on CONSTANT boolean := rag_records_index_changes();
BEGIN
    CREATE TRIGGER index_change_insert AFTER INSERT ON rag_chunktokensignatures REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION rag_record_signature_change();
    CREATE TRIGGER index_change_update AFTER UPDATE ON rag_chunktokensignatures REFERENCING NEW TABLE AS changed
        FOR EACH STATEMENT EXECUTE FUNCTION rag_record_signature_change();
    IF NOT are_on THEN
        ALTER TABLE rag_chunktokensignatures DISABLE TRIGGER index_change_insert, DISABLE TRIGGER index_change_update;
    END IF;
END $$;

-- The owner of these tables is subject to their policies; workers are not.
GRANT CREATE ON SCHEMA public TO ragsite_worker;
ALTER FUNCTION rag_record_signature_change() OWNER TO ragsite_worker;
REVOKE CREATE ON SCHEMA public FROM ragsite_worker;
