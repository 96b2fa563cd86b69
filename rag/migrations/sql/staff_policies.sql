-- Pages of the admin see the rows of their user's organisations, whatever SQL they run; superusers see all.
DO $$
DECLARE
    of_own_organization CONSTANT text := 'organization_id = ANY((SELECT orgs_own_organizations())::uuid[])';
    of_visible_source CONSTANT text := 'source_id IN (SELECT id FROM rag_datasource)';
    own CONSTANT text := 'user_id = (SELECT user_id FROM ragsite_identity())';
    protected record;
BEGIN
    FOR protected IN
        SELECT * FROM (VALUES
            ('rag_datasource', of_own_organization),
            ('rag_usage', of_own_organization),
            ('rag_grant', of_visible_source),
            ('rag_document', of_visible_source),
            ('rag_original', of_visible_source),
            ('rag_ingestionjob', of_visible_source),
            ('rag_ingestiondocument', of_visible_source),
            ('rag_reembedding', of_visible_source),
            ('rag_goldenquestion', of_visible_source),
            ('rag_qualityrun', of_visible_source),
            ('rag_chunk', of_visible_source),
            ('rag_embedding384', of_visible_source),
            ('rag_embedding512', of_visible_source),
            ('rag_embedding768', of_visible_source),
            ('rag_embedding1536', of_visible_source),
            ('rag_embedding3072', of_visible_source),
            ('rag_chunkterms', of_visible_source),
            ('rag_sourceterm', of_visible_source),
            ('rag_sourceconfig', of_visible_source),
            ('rag_organizationterm', of_own_organization),
            ('rag_organizationconfig', of_own_organization),
            ('rag_chunktokensignatures', 'EXISTS (SELECT FROM rag_chunk WHERE id = chunk_id)'),
            ('rag_webhook', of_own_organization),
            ('rag_webhookdelivery', 'EXISTS (SELECT FROM rag_webhook WHERE id = webhook_id)'),
            ('rag_searchrecord', own),
            ('rag_conversation', own),
            ('rag_conversationmessage', 'conversation_id IN (SELECT id FROM rag_conversation)'),
            -- The admin's home shows figures of its viewer's organisations; the page "Operations" concerns all.
            ('rag_measurement', 'organization = ANY((SELECT orgs_own_organizations())::uuid[])'),
            ('rag_recordederror', 'false'),
            ('rag_scheduledtaskrun', 'false'),
            ('rag_slowoperation', 'false'),
            ('rag_workerheartbeat', 'false'),
            -- The page of an organisation shows how much its members have stored.
            ('rag_historyusage', format('user_id IN (SELECT user_id FROM orgs_membership WHERE %s)', of_own_organization))
        ) AS tables (name, condition)
    LOOP
        EXECUTE format(
            'CREATE POLICY staff ON %I AS RESTRICTIVE TO ragsite_staff USING ((SELECT orgs_is_unlimited_staff()) OR %s)',
            protected.name, protected.condition
        );
    END LOOP;
END $$;
