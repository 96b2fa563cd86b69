-- Row-level security. Workers and the admin see every row. Requests see the rows whose condition holds for the
-- transaction's identity (ragsite/postgres/identity.py); a table without a condition is closed to them.
DO $$
DECLARE
    -- Uncorrelated subqueries, so that PostgreSQL evaluates the access functions once per statement.
    viewable CONSTANT text := $sql$(SELECT rag_visible_sources('view'))::uuid[]$sql$;
    writable CONSTANT text := $sql$(SELECT rag_visible_sources('write'))::uuid[]$sql$;
    manageable CONSTANT text := $sql$(SELECT rag_visible_sources('manage'))::uuid[]$sql$;
    -- Chunks and vectors: what the transaction declared, to query or to write.
    declared CONSTANT text :=
        $sql$(SELECT rag_visible_sources((SELECT action FROM ragsite_identity())))::uuid[]$sql$;
    caller CONSTANT text := $sql$(SELECT user_id FROM ragsite_identity())$sql$;
    protected record;
BEGIN
    FOR protected IN
        SELECT * FROM (VALUES
            ('rag_document', format('source_id = ANY(%s)', viewable)),
            -- Permission to query a source does not include its files and its jobs.
            ('rag_original', format('source_id = ANY(%s)', writable)),
            ('rag_ingestionjob', format('source_id = ANY(%s)', writable)),
            ('rag_ingestiondocument', format('source_id = ANY(%s)', writable)),
            ('rag_reembedding', format('source_id = ANY(%s)', writable)),
            ('rag_chunk', format('source_id = ANY(%s)', declared)),
            ('rag_embedding384', format('source_id = ANY(%s)', declared)),
            ('rag_embedding768', format('source_id = ANY(%s)', declared)),
            ('rag_embedding1536', format('source_id = ANY(%s)', declared)),
            ('rag_embedding3072', format('source_id = ANY(%s)', declared)),
            ('rag_searchrecord', format('user_id = %s', caller)),
            ('rag_conversation', format('user_id = %s', caller)),
            ('rag_conversationmessage', 'conversation_id IN (SELECT id FROM rag_conversation)'),
            ('rag_goldenquestion', NULL),
            ('rag_qualityrun', NULL),
            -- Requests search these by the functions of terms.sql.
            ('rag_chunkterms', format('source_id = ANY(%s)', declared)),
            ('rag_sourceterm', format('source_id = ANY(%s)', declared)),
            ('rag_sourceconfig', format('source_id = ANY(%s)', declared)),
            ('rag_chunktokensignatures', 'EXISTS (SELECT FROM rag_chunk WHERE id = chunk_id)'),
            ('rag_usage', 'organization_id = ANY((SELECT orgs_own_organizations())::uuid[])')
        ) AS tables (name, condition)
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', protected.name);
        -- Not forced where functions run as the owner, and on what the owner deletes by cascade.
        IF protected.name NOT IN ('rag_chunkterms', 'rag_sourceterm', 'rag_sourceconfig', 'rag_usage') THEN
            EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', protected.name);
        END IF;
        EXECUTE format('CREATE POLICY workers ON %I TO ragsite_staff, ragsite_worker USING (true)', protected.name);
        IF protected.condition IS NOT NULL THEN
            EXECUTE format(
                'CREATE POLICY readers ON %I TO ragsite_reader USING (%s)', protected.name, protected.condition
            );
        END IF;
    END LOOP;

    -- Not forced on the data sources: the access functions run as the owner and read all of them. Inserting has a
    -- condition of its own, because a new source is not yet in its creator's list.
    ALTER TABLE rag_datasource ENABLE ROW LEVEL SECURITY;
    CREATE POLICY workers ON rag_datasource TO ragsite_staff, ragsite_worker USING (true);
    EXECUTE format(
        'CREATE POLICY readers_select ON rag_datasource FOR SELECT TO ragsite_reader USING (id = ANY(%s))', viewable
    );
    EXECUTE format(
        'CREATE POLICY readers_update ON rag_datasource FOR UPDATE TO ragsite_reader USING (id = ANY(%s))', writable
    );
    CREATE POLICY readers_insert ON rag_datasource FOR INSERT TO ragsite_reader
        WITH CHECK (organization_id = ANY((SELECT rag_source_creation_organizations())::uuid[]));

    ALTER TABLE rag_grant ENABLE ROW LEVEL SECURITY;
    CREATE POLICY workers ON rag_grant TO ragsite_staff, ragsite_worker USING (true);
    EXECUTE format(
        'CREATE POLICY readers_select ON rag_grant FOR SELECT TO ragsite_reader USING (source_id = ANY(%s))', viewable
    );
    EXECUTE format(
        'CREATE POLICY readers_write ON rag_grant TO ragsite_reader USING (source_id = ANY(%s))', manageable
    );
END $$;

-- A request may change who can use a source only if its user may manage it. The right to send documents is not enough.
CREATE FUNCTION rag_protect_source() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF ragsite_is_request() AND NOT (OLD.id = ANY(rag_visible_sources('manage')))
        AND (NEW.organization_id, NEW.owner_id, NEW.visibility, NEW.deleted_at)
            IS DISTINCT FROM (OLD.organization_id, OLD.owner_id, OLD.visibility, OLD.deleted_at)
    THEN
        RAISE EXCEPTION 'Only who manages a source may change who can use it.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF ragsite_is_request() AND NEW.organization_id <> OLD.organization_id THEN
        RAISE EXCEPTION 'A source stays in its organisation.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER protect_source BEFORE UPDATE ON rag_datasource FOR EACH ROW EXECUTE FUNCTION rag_protect_source();
