-- Row-level security of people, organisations and API keys. Requests see their own user and key, and their user's
-- organisations with their people. They change nothing here but their user's API keys (ragsite/postgres/grants.sql).
DO $$
DECLARE
    caller CONSTANT text := '(SELECT user_id FROM ragsite_identity())';
    own CONSTANT text := '(SELECT orgs_own_organizations())::uuid[]';
    of_visible_membership CONSTANT text := 'EXISTS (SELECT FROM orgs_membership WHERE id = membership_id)';
    protected record;
BEGIN
    FOR protected IN
        SELECT * FROM (VALUES
            ('accounts_user', format(
                'id = %s OR (SELECT orgs_is_superuser()) OR EXISTS (SELECT FROM orgs_membership WHERE user_id = accounts_user.id '
                'AND organization_id = ANY(%s))', caller, own)),
            ('orgs_organization', format(
                'id = ANY(%s) OR EXISTS (SELECT FROM orgs_membership WHERE organization_id = orgs_organization.id '
                'AND user_id = %s)', own, caller)),
            ('orgs_membership', format('user_id = %s OR organization_id = ANY(%s)', caller, own)),
            ('orgs_membership_roles', of_visible_membership),
            ('orgs_membership_teams', of_visible_membership),
            ('orgs_role', format('organization_id = ANY(%s)', own)),
            ('orgs_team', format('organization_id = ANY(%s)', own)),
            ('orgs_apikey', format('user_id = %s', caller))
        ) AS tables (name, condition)
    LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', protected.name);
        EXECUTE format(
            'CREATE POLICY others ON %I TO ragsite_sign_in, ragsite_staff, ragsite_worker USING (true)', protected.name
        );
        EXECUTE format(
            'CREATE POLICY readers_select ON %I FOR SELECT TO ragsite_reader USING (%s)',
            protected.name, protected.condition
        );
    END LOOP;

    EXECUTE format('CREATE POLICY readers_update ON orgs_apikey FOR UPDATE TO ragsite_reader USING (user_id = %s)', caller);
    EXECUTE format(
        'CREATE POLICY readers_delete ON orgs_apikey FOR DELETE TO ragsite_reader '
        'USING (user_id = %s AND (revoked_at IS NOT NULL OR expires_at <= statement_timestamp()))', caller
    );
    -- A key cannot make another one.
    EXECUTE format(
        'CREATE POLICY readers_insert ON orgs_apikey FOR INSERT TO ragsite_reader WITH CHECK (user_id = %s '
        'AND organization_id = ANY(%s) AND (SELECT key_id IS NULL FROM ragsite_identity()))', caller, own
    );
END $$;

-- A request may end its user's keys. It may not widen or revive one.
CREATE FUNCTION orgs_protect_api_key() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    other_columns orgs_apikey := NEW;
BEGIN
    IF NOT ragsite_is_request() THEN
        RETURN NEW;
    END IF;
    other_columns.revoked_at := OLD.revoked_at;
    other_columns.expires_at := OLD.expires_at;
    other_columns.last_used_at := OLD.last_used_at;
    IF other_columns IS DISTINCT FROM OLD
        OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at)
        OR coalesce(NEW.expires_at, 'infinity') > coalesce(OLD.expires_at, 'infinity')
    THEN
        RAISE EXCEPTION 'A request may only end an API key.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER protect_api_key BEFORE UPDATE ON orgs_apikey FOR EACH ROW EXECUTE FUNCTION orgs_protect_api_key();
