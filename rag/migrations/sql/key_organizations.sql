-- The access rule (docs/contracts/access.md) in SQL: the data sources that the transaction's user, restricted by the
-- transaction's API key if it has one, may perform an action on. The action is query, ingest, manage, write (ingest or
-- manage) or view (any of the three).
CREATE OR REPLACE FUNCTION rag_visible_sources(action text) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    caller_id uuid;
    key_id uuid;
    key_sources uuid[];
    key_scopes text[];
    key_organization uuid;
    may_query boolean;
    may_ingest boolean;
    may_manage boolean;
BEGIN
    SELECT identity.user_id, identity.key_id INTO caller_id, key_id FROM ragsite_identity() AS identity;
    IF caller_id IS NULL THEN
        RETURN '{}';
    END IF;
    IF key_id IS NOT NULL THEN
        SELECT source_ids, scopes, CASE WHEN NOT all_organizations THEN key.organization_id END
            INTO key_sources, key_scopes, key_organization FROM orgs_apikey AS key
            JOIN orgs_organization AS organization ON organization.id = key.organization_id AND organization.is_active
            JOIN orgs_membership AS membership ON membership.organization_id = key.organization_id
                AND membership.user_id = key.user_id AND membership.is_active
            WHERE key.id = key_id AND key.user_id = caller_id AND key.revoked_at IS NULL
                AND (key.expires_at IS NULL OR key.expires_at > statement_timestamp());
        IF NOT FOUND THEN
            RETURN '{}';
        END IF;
    END IF;
    -- Viewing needs no particular scope of the key.
    may_query := action = 'view' OR (action = 'query' AND coalesce('query' = ANY(key_scopes), true));
    may_ingest := action = 'view' OR (action IN ('ingest', 'write') AND coalesce('ingest' = ANY(key_scopes), true));
    may_manage := action = 'view' OR (action IN ('manage', 'write') AND coalesce('manage' = ANY(key_scopes), true));
    RETURN ARRAY(
        WITH RECURSIVE memberships AS (
            SELECT membership.id, membership.organization_id FROM orgs_membership AS membership
            JOIN orgs_organization AS organization ON organization.id = membership.organization_id
            JOIN accounts_user AS person ON person.id = membership.user_id
            WHERE person.id = caller_id AND person.is_active AND membership.is_active AND organization.is_active
        ), held_roles AS (
            SELECT role.id, role.organization_id, role.permissions FROM memberships
            JOIN orgs_membership_roles AS membership_role ON membership_role.membership_id = memberships.id
            JOIN orgs_role AS role ON role.id = membership_role.role_id
                AND role.organization_id = memberships.organization_id
        ), joined_teams AS (
            SELECT team.id, team.organization_id, team.parent_id FROM memberships
            JOIN orgs_membership_teams AS membership_team ON membership_team.membership_id = memberships.id
            JOIN orgs_team AS team ON team.id = membership_team.team_id
                AND team.organization_id = memberships.organization_id
            UNION
            SELECT parent_team.id, parent_team.organization_id, parent_team.parent_id FROM joined_teams
            JOIN orgs_team AS parent_team ON parent_team.id = joined_teams.parent_id
                AND parent_team.organization_id = joined_teams.organization_id
        ), active_grants AS (
            SELECT source_id, user_id, role_id, team_id FROM rag_grant
            WHERE expires_at IS NULL OR expires_at > statement_timestamp()
        )
        SELECT source.id FROM rag_datasource AS source
        WHERE source.deleted_at IS NULL
        AND (key_sources IS NULL OR source.id = ANY(key_sources))
        AND (key_organization IS NULL OR source.organization_id = key_organization)
        AND (
            (may_query AND source.organization_id IN (SELECT organization_id FROM memberships) AND (
                source.visibility = 'public'
                OR (source.visibility = 'personal' AND source.owner_id = caller_id)
                OR (source.visibility = 'private'
                    AND EXISTS (SELECT FROM active_grants WHERE source_id = source.id AND user_id = caller_id))
                OR (source.visibility = 'role' AND EXISTS (
                    SELECT FROM active_grants JOIN held_roles ON held_roles.id = active_grants.role_id
                    WHERE source_id = source.id AND held_roles.organization_id = source.organization_id))
                OR (source.visibility = 'team' AND EXISTS (
                    SELECT FROM active_grants JOIN joined_teams ON joined_teams.id = active_grants.team_id
                    WHERE source_id = source.id AND joined_teams.organization_id = source.organization_id))
            ))
            OR (may_ingest AND (
                (source.owner_id = caller_id AND source.organization_id IN (SELECT organization_id FROM memberships))
                OR source.organization_id IN
                    (SELECT organization_id FROM held_roles WHERE 'sources.ingest' = ANY(permissions))
            ))
            OR (may_manage AND (
                (source.owner_id = caller_id AND source.organization_id IN (SELECT organization_id FROM memberships))
                OR source.organization_id IN
                    (SELECT organization_id FROM held_roles WHERE 'sources.manage' = ANY(permissions))
                OR (EXISTS (SELECT FROM accounts_user WHERE id = caller_id AND is_active AND is_superuser)
                    AND EXISTS (SELECT FROM orgs_organization WHERE id = source.organization_id AND is_active))
            ))
        )
    );
END $$;

-- The organisations in which the user may create data sources; none with a key that is restricted to data sources.
CREATE OR REPLACE FUNCTION rag_source_creation_organizations() RETURNS uuid[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT ARRAY(
        SELECT membership.organization_id FROM ragsite_identity() AS identity
        JOIN orgs_membership AS membership ON membership.user_id = identity.user_id
        JOIN orgs_organization AS organization ON organization.id = membership.organization_id
        JOIN accounts_user AS person ON person.id = membership.user_id
        JOIN orgs_membership_roles AS membership_role ON membership_role.membership_id = membership.id
        JOIN orgs_role AS role ON role.id = membership_role.role_id
            AND role.organization_id = membership.organization_id
        WHERE person.is_active AND membership.is_active AND organization.is_active
        AND 'sources.create' = ANY(role.permissions)
        AND (identity.key_id IS NULL OR EXISTS (
            SELECT FROM orgs_apikey AS key WHERE key.id = identity.key_id AND key.source_ids IS NULL
            AND (key.all_organizations OR key.organization_id = membership.organization_id)
        ))
    )
$$;
