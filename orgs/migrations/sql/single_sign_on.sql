-- The organisations in which the statement's user has every permission: whoever configures a provider or a directory
-- can sign in as every member.
CREATE FUNCTION orgs_fully_managed_organizations() RETURNS uuid[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT ARRAY(
        SELECT unnest(orgs_organizations_with('members.manage'))
        INTERSECT SELECT unnest(orgs_organizations_with('sources.create'))
        INTERSECT SELECT unnest(orgs_organizations_with('sources.ingest'))
        INTERSECT SELECT unnest(orgs_organizations_with('sources.manage'))
    )
$$;

-- Row-level security: identity providers are read by sign-in, and by the pages of the admin that configure them.
DO $$
DECLARE
    own CONSTANT text := 'organization_id = ANY((SELECT orgs_fully_managed_organizations())::uuid[])';
    of_visible_provider CONSTANT text := 'EXISTS (SELECT FROM orgs_identityprovider WHERE id = provider_id)';
    protected record;
BEGIN
    FOR protected IN
        SELECT * FROM (VALUES
            ('orgs_identityprovider', own),
            ('orgs_signindomain', own),
            ('orgs_groupmapping', of_visible_provider),
            ('orgs_linkedidentity', of_visible_provider)
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

-- Only a superuser says that a domain belongs to an organisation: its provider then signs in as everybody there.
CREATE FUNCTION orgs_protect_domain() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF ragsite_is_limited_staff() AND NEW.verified_at IS NOT NULL AND (
        TG_OP = 'INSERT'
        OR (NEW.verified_at, NEW.domain, NEW.organization_id)
            IS DISTINCT FROM (OLD.verified_at, OLD.domain, OLD.organization_id)
    ) THEN
        RAISE EXCEPTION 'Only superusers verify domains.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER protect_domain BEFORE INSERT OR UPDATE ON orgs_signindomain
    FOR EACH ROW EXECUTE FUNCTION orgs_protect_domain();
