-- Row-level security: webhooks are visible to those who manage all sources of the organisation. It is not forced, so
-- that the functions below, which run as the owner, find the webhooks of an event whoever causes it.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['rag_webhook', 'rag_webhookdelivery'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY workers ON %I TO ragsite_staff, ragsite_worker USING (true)', name);
    END LOOP;
    CREATE POLICY readers ON rag_webhook TO ragsite_reader
        USING (organization_id = ANY((SELECT rag_whole_organizations('manage'))::uuid[]));
    CREATE POLICY readers ON rag_webhookdelivery TO ragsite_reader
        USING (EXISTS (SELECT FROM rag_webhook WHERE id = webhook_id));
END $$;

-- Whether a webhook of the organisation wants to know of the event.
CREATE FUNCTION rag_has_webhook(organization uuid, event text) RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM rag_webhook WHERE organization_id = organization AND is_active AND event = ANY(events)
    ) AND (NOT ragsite_is_request() OR organization = ANY(orgs_own_organizations()))
$$;

-- Store a delivery for each webhook of the organisation that wants to know of the event, in the transaction in which it
-- happens, and return how many. A webhook with `maximum` waiting deliveries counts the event as skipped instead. A
-- request can cause the end of a job and nothing else, in its user's organisations.
CREATE FUNCTION rag_record_event(organization uuid, event text, payload jsonb, maximum integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    subscriber uuid;
    stored integer := 0;
BEGIN
    IF ragsite_is_request()
        AND NOT (event IN ('job.finished', 'job.failed') AND organization = ANY(orgs_own_organizations()))
    THEN
        RETURN 0;
    END IF;
    FOR subscriber IN
        SELECT id FROM rag_webhook WHERE organization_id = organization AND is_active AND event = ANY(events)
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

-- A replaced secret is kept, by the database: requests may set a secret and read none.
CREATE FUNCTION rag_keep_old_secret() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF NEW.secret IS DISTINCT FROM OLD.secret THEN
        NEW.old_secret := OLD.secret;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER keep_old_secret BEFORE UPDATE ON rag_webhook FOR EACH ROW EXECUTE FUNCTION rag_keep_old_secret();
