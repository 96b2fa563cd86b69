-- Pages of the admin see, of what does not belong to the directory of accounts and organisations, only rows of their
-- user's organisations; superusers see all. The application signs the action `all` for the few statements that count or
-- create over organisations (ragsite/postgres/identity.py).
CREATE FUNCTION orgs_is_unlimited_staff() RETURNS boolean
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT coalesce((SELECT action = 'all' FROM ragsite_identity()), false) OR orgs_is_superuser()
$$;

-- Second factors and sign-ins: their own user's only. The history of changes: that of colleagues.
DO $$
DECLARE
    own CONSTANT text := 'user_id = (SELECT user_id FROM ragsite_identity())';
    protected record;
BEGIN
    FOR protected IN
        SELECT * FROM (VALUES
            ('accounts_tokenfamily', own),
            ('django_admin_log', own || ' OR user_id IN (SELECT user_id FROM orgs_membership '
                'WHERE organization_id = ANY((SELECT orgs_own_organizations())::uuid[]))'),
            ('otp_totp_totpdevice', own),
            ('otp_static_staticdevice', own),
            ('otp_static_statictoken', 'EXISTS (SELECT FROM otp_static_staticdevice WHERE id = device_id)'),
            ('axes_accessattempt', 'false'),
            ('axes_accesslog', 'false'),
            ('axes_accessfailurelog', 'false')
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

-- Whether a page of the admin sent the current statement, for a user who is not a superuser. In PL/pgSQL, so that other
-- roles need no right to the functions.
CREATE FUNCTION ragsite_is_limited_staff() RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
BEGIN
    IF coalesce(nullif(current_setting('role'), 'none'), session_user) <> 'ragsite_staff' THEN
        RETURN false;
    END IF;
    RETURN NOT orgs_is_unlimited_staff();
END $$;

-- These decide whose rows a user sees. Only superusers create accounts, make superusers, or change the credentials of
-- others; and nobody else puts people into an organisation that they do not belong to.
CREATE FUNCTION orgs_protect_account() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF ragsite_is_limited_staff() AND (
        TG_OP = 'INSERT' OR NEW.id <> OLD.id OR NEW.is_superuser > OLD.is_superuser OR NEW.is_staff > OLD.is_staff
        OR ((NEW.email, NEW.password) IS DISTINCT FROM (OLD.email, OLD.password)
            AND OLD.id IS DISTINCT FROM (SELECT user_id FROM ragsite_identity()))
    ) THEN
        RAISE EXCEPTION 'Only superusers create accounts and change their credentials and rights.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER protect_account BEFORE INSERT OR UPDATE ON accounts_user
    FOR EACH ROW EXECUTE FUNCTION orgs_protect_account();

CREATE FUNCTION orgs_protect_membership() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF ragsite_is_limited_staff() AND NOT NEW.organization_id = ANY(orgs_own_organizations()) THEN
        RAISE EXCEPTION 'Only members change who belongs to an organisation.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER protect_membership BEFORE INSERT OR UPDATE ON orgs_membership
    FOR EACH ROW EXECUTE FUNCTION orgs_protect_membership();
