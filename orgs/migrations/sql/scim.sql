-- Row-level security: what directories keep is read by sign-in (the token), and by the pages of the admin that configure
-- them. Requests of a directory run as staff with the signed action `all` (orgs/scim/tokens.py).
DO $$
DECLARE
    own CONSTANT text := 'organization_id = ANY((SELECT orgs_fully_managed_organizations())::uuid[])';
    protected record;
BEGIN
    FOR protected IN
        SELECT * FROM (VALUES
            ('orgs_scimtoken', own),
            ('orgs_scimuser', format('EXISTS (SELECT FROM orgs_membership WHERE id = membership_id AND %s)', own)),
            ('orgs_scimgroup', format('EXISTS (SELECT FROM orgs_team WHERE id = team_id AND %s)', own))
        ) AS tables (name, condition)
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', protected.name);
        EXECUTE format('CREATE POLICY others ON %I TO ragsite_sign_in, ragsite_worker USING (true)', protected.name);
        EXECUTE format(
            'CREATE POLICY staff ON %I TO ragsite_staff USING ((SELECT orgs_is_unlimited_staff()) OR %s)',
            protected.name, protected.condition
        );
    END LOOP;
END $$;
