-- Pages of the admin see, of the directory of accounts and organisations, what concerns their user's organisations;
-- superusers see all. They write who may do what only where their user may (orgs_writable_organizations).

-- The organisations whose members and roles the statement may change. A page that an administrator may use signs the
-- action `members`, so that it can finish when the administrator gives up this right with it (orgs/admin/guarded.py).
CREATE FUNCTION orgs_writable_organizations() RETURNS uuid[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT CASE
        WHEN (SELECT action = 'members' FROM ragsite_identity()) THEN orgs_own_organizations()
        ELSE orgs_organizations_with('members.manage')
    END
$$;

DO $$
DECLARE
    caller CONSTANT text := '(SELECT user_id FROM ragsite_identity())';
    own CONSTANT text := '(SELECT orgs_own_organizations())::uuid[]';
    writable CONSTANT text := '(SELECT orgs_writable_organizations())::uuid[]';
    of_own_membership CONSTANT text := 'EXISTS (SELECT FROM orgs_membership WHERE id = membership_id)';
    of_writable_membership CONSTANT text :=
        format('EXISTS (SELECT FROM orgs_membership WHERE id = membership_id AND organization_id = ANY(%s))', writable);
    protected record;
BEGIN
    FOR protected IN
        SELECT * FROM (VALUES
            ('accounts_user', format(
                'id = %s OR EXISTS (SELECT FROM orgs_membership WHERE user_id = accounts_user.id '
                'AND organization_id = ANY(%s)) OR EXISTS (SELECT FROM orgs_apikey WHERE user_id = accounts_user.id '
                'AND organization_id = ANY(%2$s))', caller, own),
                format('id = %s', caller)),
            ('orgs_organization', format(
                'id = ANY(%s) OR EXISTS (SELECT FROM orgs_membership WHERE organization_id = orgs_organization.id '
                'AND user_id = %s)', own, caller),
                format('id = ANY(%s)', writable)),
            ('orgs_membership', format('user_id = %s OR organization_id = ANY(%s)', caller, own),
                format('organization_id = ANY(%s)', writable)),
            ('orgs_membership_roles', of_own_membership, of_writable_membership),
            ('orgs_membership_teams', of_own_membership, of_writable_membership),
            ('orgs_role', format('organization_id = ANY(%s)', own), format('organization_id = ANY(%s)', writable)),
            ('orgs_team', format('organization_id = ANY(%s)', own), format('organization_id = ANY(%s)', writable)),
            ('orgs_apikey', format('user_id = %s OR organization_id = ANY(%s)', caller, own),
                format('user_id = %s OR organization_id = ANY(%s)', caller, writable))
        ) AS tables (name, readable, changeable)
    LOOP
        EXECUTE format('ALTER POLICY others ON %I TO ragsite_sign_in, ragsite_worker', protected.name);
        EXECUTE format(
            'CREATE POLICY staff_select ON %I FOR SELECT TO ragsite_staff USING ((SELECT orgs_is_unlimited_staff()) OR %s)',
            protected.name, protected.readable
        );
        EXECUTE format(
            'CREATE POLICY staff_change ON %I TO ragsite_staff USING ((SELECT orgs_is_unlimited_staff()) OR %s)',
            protected.name, protected.changeable
        );
    END LOOP;
END $$;

-- Neither a request nor a page of the admin may widen or revive a key. Superusers may.
CREATE OR REPLACE FUNCTION orgs_protect_api_key() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
    other_columns orgs_apikey := NEW;
BEGIN
    IF NOT (ragsite_is_request() OR ragsite_is_limited_staff()) THEN
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

-- One row for each active membership of a user: what it permits, and what the API key narrows; only that in the key's
-- organisation, unless the key is for all. Without rows the user may do nothing. A role or team has an effect only in its own
-- organisation; a parent team in another organisation is ignored, together with the teams above it. UNION removes
-- duplicates, so the recursion ends even if the rows contain a cycle. Requests read the permissions of their own user,
-- and those of other members in organisations whose sources their user manages; pages of the admin, those of other
-- members in their user's organisations.
CREATE OR REPLACE FUNCTION orgs_effective_permissions(wanted_user uuid, wanted_key uuid)
RETURNS TABLE (organization uuid, roles uuid[], teams uuid[], permissions text[], scopes text[], sources uuid[],
    only_organization uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    managed uuid[];
    identity record;
BEGIN
    IF ragsite_is_request() THEN
        SELECT * INTO identity FROM ragsite_identity();
        IF identity.user_id IS NULL THEN
            RETURN;
        ELSIF identity.user_id <> wanted_user THEN
            IF NOT orgs_is_superuser() THEN
                managed := orgs_organizations_with('sources.manage');
            END IF;
        END IF;
    ELSIF ragsite_is_limited_staff() THEN
        SELECT * INTO identity FROM ragsite_identity();
        IF identity.user_id IS DISTINCT FROM wanted_user THEN
            managed := orgs_own_organizations();
        END IF;
    END IF;
    RETURN QUERY
    SELECT m.organization_id,
           ARRAY(SELECT r.id FROM orgs_membership_roles h JOIN orgs_role r ON r.id = h.role_id
                 WHERE h.membership_id = m.id AND r.organization_id = m.organization_id),
           ARRAY(WITH RECURSIVE joined AS (
                     SELECT t.id, t.parent_id FROM orgs_membership_teams j JOIN orgs_team t ON t.id = j.team_id
                     WHERE j.membership_id = m.id AND t.organization_id = m.organization_id
                     UNION
                     SELECT t.id, t.parent_id FROM joined JOIN orgs_team t ON t.id = joined.parent_id
                     WHERE t.organization_id = m.organization_id)
                 SELECT id FROM joined),
           ARRAY(SELECT unnest(r.permissions)::text FROM orgs_membership_roles h JOIN orgs_role r ON r.id = h.role_id
                 WHERE h.membership_id = m.id AND r.organization_id = m.organization_id),
           k.scopes::text[], k.source_ids, k.only_organization
    FROM orgs_membership m
    JOIN orgs_organization o ON o.id = m.organization_id
    JOIN accounts_user u ON u.id = m.user_id
    LEFT JOIN (SELECT k.user_id, k.scopes, k.source_ids,
                      CASE WHEN NOT k.all_organizations THEN k.organization_id END AS only_organization
               FROM orgs_apikey k
               JOIN orgs_membership km ON km.user_id = k.user_id AND km.organization_id = k.organization_id
               JOIN orgs_organization ko ON ko.id = k.organization_id
               WHERE k.id = wanted_key AND k.revoked_at IS NULL
                 AND (k.expires_at IS NULL OR k.expires_at > statement_timestamp())
                 AND km.is_active AND ko.is_active) k ON k.user_id = m.user_id
    WHERE m.user_id = wanted_user AND m.is_active AND o.is_active AND u.is_active
      AND (wanted_key IS NULL OR k.user_id IS NOT NULL)
      AND (k.only_organization IS NULL OR k.only_organization = m.organization_id)
      AND (managed IS NULL OR m.organization_id = ANY(managed));
END $$;

-- Second factors are read as sign-in, also those of the user. Superusers remove them, and those of deleted accounts.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['otp_totp_totpdevice', 'otp_static_staticdevice', 'otp_static_statictoken'] LOOP
        EXECUTE format('ALTER POLICY staff ON %I USING ((SELECT orgs_is_unlimited_staff()))', name);
    END LOOP;
END $$;
