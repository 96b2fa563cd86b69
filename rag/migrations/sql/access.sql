-- Which sources are open to the transaction's user, by the transaction's key if there is one: the access rule of
-- docs/contracts/access.md, from the rows as they are now. wanted: query, ingest, manage, write (either of the two) or view
-- (any of the three).
CREATE FUNCTION rag_open_sources(wanted text) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    me uuid := nullif(current_setting('rag.user', true), '');
    by_key uuid := nullif(current_setting('rag.key', true), '');
    only_these uuid[];
    only_scopes text[];
    to_query boolean;
    to_ingest boolean;
    to_manage boolean;
BEGIN
    IF me IS NULL THEN
        RETURN '{}';
    END IF;
    IF by_key IS NOT NULL THEN
        SELECT source_ids, scopes INTO only_these, only_scopes FROM orgs_apikey AS key
            JOIN orgs_organization AS organization ON organization.id = key.organization_id AND organization.is_active
            JOIN orgs_membership AS membership ON membership.organization_id = key.organization_id
                AND membership.user_id = key.user_id AND membership.is_active
            WHERE key.id = by_key AND key.user_id = me AND key.revoked_at IS NULL
                AND (key.expires_at IS NULL OR key.expires_at > statement_timestamp());
        IF NOT FOUND THEN
            RETURN '{}';
        END IF;
    END IF;
    -- To VIEW, a key needs no scope in particular.
    to_query := wanted = 'view' OR (wanted = 'query' AND coalesce('query' = ANY(only_scopes), true));
    to_ingest := wanted = 'view' OR (wanted IN ('ingest', 'write') AND coalesce('ingest' = ANY(only_scopes), true));
    to_manage := wanted = 'view' OR (wanted IN ('manage', 'write') AND coalesce('manage' = ANY(only_scopes), true));
    RETURN ARRAY(
        WITH RECURSIVE mine AS (
            SELECT membership.id, membership.organization_id FROM orgs_membership AS membership
            JOIN orgs_organization AS organization ON organization.id = membership.organization_id
            JOIN accounts_user AS person ON person.id = membership.user_id
            WHERE person.id = me AND person.is_active AND membership.is_active AND organization.is_active
        ), held AS (
            SELECT role.id, role.organization_id, role.permissions FROM mine
            JOIN orgs_membership_roles AS holding ON holding.membership_id = mine.id
            JOIN orgs_role AS role ON role.id = holding.role_id AND role.organization_id = mine.organization_id
        ), joined AS (
            SELECT team.id, team.organization_id, team.parent_id FROM mine
            JOIN orgs_membership_teams AS joining ON joining.membership_id = mine.id
            JOIN orgs_team AS team ON team.id = joining.team_id AND team.organization_id = mine.organization_id
            UNION
            SELECT above.id, above.organization_id, above.parent_id FROM joined
            JOIN orgs_team AS above ON above.id = joined.parent_id AND above.organization_id = joined.organization_id
        ), granted AS (
            SELECT source_id, user_id, role_id, team_id FROM rag_grant
            WHERE expires_at IS NULL OR expires_at > statement_timestamp()
        )
        SELECT source.id FROM rag_datasource AS source
        WHERE source.deleted_at IS NULL
        AND (only_these IS NULL OR source.id = ANY(only_these))
        AND (
            (to_query AND source.organization_id IN (SELECT organization_id FROM mine) AND (
                source.visibility = 'public'
                OR (source.visibility = 'personal' AND source.owner_id = me)
                OR (source.visibility = 'private'
                    AND EXISTS (SELECT FROM granted WHERE source_id = source.id AND user_id = me))
                OR (source.visibility = 'role' AND EXISTS (
                    SELECT FROM granted JOIN held ON held.id = granted.role_id
                    WHERE source_id = source.id AND held.organization_id = source.organization_id))
                OR (source.visibility = 'team' AND EXISTS (
                    SELECT FROM granted JOIN joined ON joined.id = granted.team_id
                    WHERE source_id = source.id AND joined.organization_id = source.organization_id))
            ))
            OR (to_ingest AND (
                (source.owner_id = me AND source.organization_id IN (SELECT organization_id FROM mine))
                OR source.organization_id IN
                    (SELECT organization_id FROM held WHERE 'sources.ingest' = ANY(permissions))
            ))
            OR (to_manage AND (
                source.organization_id IN (SELECT organization_id FROM held WHERE 'sources.manage' = ANY(permissions))
                OR (EXISTS (SELECT FROM accounts_user WHERE id = me AND is_active AND is_superuser)
                    AND EXISTS (SELECT FROM orgs_organization WHERE id = source.organization_id AND is_active))
            ))
        )
    );
END $$;

-- Where the user may make sources; by a restricted key nowhere.
CREATE FUNCTION rag_creating_in() RETURNS uuid[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT ARRAY(
        SELECT membership.organization_id FROM orgs_membership AS membership
        JOIN orgs_organization AS organization ON organization.id = membership.organization_id
        JOIN accounts_user AS person ON person.id = membership.user_id
        JOIN orgs_membership_roles AS holding ON holding.membership_id = membership.id
        JOIN orgs_role AS role ON role.id = holding.role_id AND role.organization_id = membership.organization_id
        WHERE person.id = nullif(current_setting('rag.user', true), '')::uuid
        AND person.is_active AND membership.is_active AND organization.is_active
        AND 'sources.create' = ANY(role.permissions)
        AND (nullif(current_setting('rag.key', true), '') IS NULL OR EXISTS (
            SELECT FROM orgs_apikey
            WHERE id = nullif(current_setting('rag.key', true), '')::uuid AND source_ids IS NULL
        ))
    )
$$;
