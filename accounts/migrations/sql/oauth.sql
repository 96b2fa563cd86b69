-- Row-level security: sign-in reads and writes clients and codes, workers delete old ones, and superusers delete them
-- together with accounts.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['accounts_oauthclient', 'accounts_oauthcode'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format('CREATE POLICY others ON %I TO ragsite_sign_in, ragsite_worker USING (true)', name);
        EXECUTE format('CREATE POLICY staff ON %I TO ragsite_staff USING ((SELECT orgs_is_unlimited_staff()))', name);
    END LOOP;
END $$;
