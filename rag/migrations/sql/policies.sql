-- Row-level security. Workers and the admin see every row. Requests see the rows whose condition holds for the
-- transaction's identity (ragsite/postgres/identity.py); a table without a condition is closed to them.
DO $$
DECLARE
    -- Uncorrelated subqueries, so that PostgreSQL evaluates the access functions once per statement.
    viewable CONSTANT text := $sql$(SELECT rag_visible_sources('view'))::uuid[]$sql$;
    writable CONSTANT text := $sql$(SELECT rag_visible_sources('write'))::uuid[]$sql$;
    -- Chunks and vectors: what the transaction declared, to query or to write.
    declared CONSTANT text :=
        $sql$(SELECT rag_visible_sources(
            coalesce(nullif(current_setting('rag.action', true), ''), 'query')
        ))::uuid[]$sql$;
    caller CONSTANT text := $sql$(SELECT nullif(current_setting('rag.user', true), '')::uuid)$sql$;
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
            ('rag_qualityrun', NULL)
        ) AS tables (name, condition)
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', protected.name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', protected.name);
        EXECUTE format('CREATE POLICY workers ON %I TO ragsite_worker USING (true)', protected.name);
        IF protected.condition IS NOT NULL THEN
            EXECUTE format(
                'CREATE POLICY readers ON %I TO ragsite_reader USING (%s)', protected.name, protected.condition
            );
        END IF;
    END LOOP;

    -- Not forced on the data sources: the access functions run as the owner and read all of them. Inserting has a
    -- condition of its own, because a new source is not yet in its creator's list.
    ALTER TABLE rag_datasource ENABLE ROW LEVEL SECURITY;
    CREATE POLICY workers ON rag_datasource TO ragsite_worker USING (true);
    EXECUTE format(
        'CREATE POLICY readers_select ON rag_datasource FOR SELECT TO ragsite_reader USING (id = ANY(%s))', viewable
    );
    EXECUTE format(
        'CREATE POLICY readers_update ON rag_datasource FOR UPDATE TO ragsite_reader USING (id = ANY(%s))', viewable
    );
    EXECUTE format(
        'CREATE POLICY readers_delete ON rag_datasource FOR DELETE TO ragsite_reader USING (id = ANY(%s))', viewable
    );
    CREATE POLICY readers_insert ON rag_datasource FOR INSERT TO ragsite_reader
        WITH CHECK (organization_id = ANY((SELECT rag_source_creation_organizations())::uuid[]));
END $$;
