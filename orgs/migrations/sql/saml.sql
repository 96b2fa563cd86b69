-- Row-level security: only sign-in reads and writes which assertions were used.
ALTER TABLE orgs_usedassertion ENABLE ROW LEVEL SECURITY;
CREATE POLICY others ON orgs_usedassertion TO ragsite_sign_in, ragsite_worker USING (true);
CREATE POLICY staff ON orgs_usedassertion TO ragsite_staff USING (
    EXISTS (SELECT FROM orgs_identityprovider WHERE id = provider_id)
);
