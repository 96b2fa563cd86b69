-- Row-level security: an invitation's link is a credential. Sign-in finds it by the hash of its token; pages of the
-- admin see those of the organisations whose members their user may change. Requests see none (grants.sql).
DO $$
DECLARE
    of_visible_invitation CONSTANT text := 'EXISTS (SELECT FROM orgs_invitation WHERE id = invitation_id)';
    protected record;
BEGIN
    FOR protected IN
        SELECT * FROM (VALUES
            ('orgs_invitation', 'organization_id = ANY((SELECT orgs_key_managing_organizations())::uuid[])'),
            ('orgs_invitation_roles', of_visible_invitation),
            ('orgs_invitation_teams', of_visible_invitation)
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
