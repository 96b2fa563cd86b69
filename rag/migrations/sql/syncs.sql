-- Row-level security: requests of the API have nothing to do with syncs. Pages of the admin see those of their user's
-- organisations; rag.models.ingestion.syncs decides which of them are shown.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['rag_syncconnection', 'rag_syncrun', 'rag_syncitem'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY workers ON %I TO ragsite_staff, ragsite_worker USING (true)', name);
    END LOOP;
    CREATE POLICY staff ON rag_syncconnection AS RESTRICTIVE TO ragsite_staff
        USING ((SELECT orgs_is_unlimited_staff()) OR source_id IN (SELECT id FROM rag_datasource));
    CREATE POLICY staff ON rag_syncrun AS RESTRICTIVE TO ragsite_staff USING (
        (SELECT orgs_is_unlimited_staff()) OR EXISTS (SELECT FROM rag_syncconnection WHERE id = connection_id)
    );
    CREATE POLICY staff ON rag_syncitem AS RESTRICTIVE TO ragsite_staff USING (
        (SELECT orgs_is_unlimited_staff()) OR EXISTS (SELECT FROM rag_syncconnection WHERE id = connection_id)
    );
END $$;
