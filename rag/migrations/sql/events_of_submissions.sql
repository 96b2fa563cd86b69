-- A request can cause the end of a job, and the failure of its documents that cannot be read, and nothing else, in its
-- user's organisations.
CREATE OR REPLACE FUNCTION rag_record_event(organization uuid, event text, payload jsonb, maximum integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    subscriber uuid;
    stored integer := 0;
BEGIN
    IF ragsite_is_request()
        AND NOT (event IN ('job.finished', 'job.failed', 'document.failed')
            AND organization = ANY(orgs_own_organizations()))
    THEN
        RETURN 0;
    END IF;
    FOR subscriber IN
        SELECT id FROM rag_webhook WHERE organization_id = organization AND is_active AND event = ANY(events)
        ORDER BY id FOR KEY SHARE
    LOOP
        IF (SELECT count(*) FROM (
            SELECT FROM rag_webhookdelivery WHERE webhook_id = subscriber AND state = 'pending' LIMIT maximum
        ) AS waiting) < maximum THEN
            INSERT INTO rag_webhookdelivery
                (id, webhook_id, event, payload, state, attempts, error, created_at, due_at)
                VALUES (gen_random_uuid(), subscriber, event, payload, 'pending', 0, '', now(), now());
            stored := stored + 1;
        ELSE
            UPDATE rag_webhook SET skipped = skipped + 1 WHERE id = subscriber;
        END IF;
    END LOOP;
    RETURN stored;
END $$;
