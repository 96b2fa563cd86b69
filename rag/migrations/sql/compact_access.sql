-- The access rule in a form whose size does not depend on the number of data sources: organisations, and the sources that
-- are open to the caller one by one. Policies compare each row with it (docs/decisions/0047-access-without-lists.md).

-- The caller of the transaction, if the API key is usable: what they may do, where they are a member, and the sources
-- and the organisation that the key is restricted to. NULL for the action stands for that of the identity.
CREATE FUNCTION rag_caller(
    action text, OUT user_id uuid, OUT organizations uuid[], OUT key_sources uuid[], OUT key_organization uuid,
    OUT may_query boolean, OUT may_ingest boolean, OUT may_manage boolean
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    identity record;
    wanted text;
    key_scopes text[];
BEGIN
    SELECT * INTO identity FROM ragsite_identity();
    IF identity.user_id IS NULL THEN
        RETURN;
    END IF;
    IF identity.key_id IS NOT NULL THEN
        SELECT key.source_ids, key.scopes, CASE WHEN NOT key.all_organizations THEN key.organization_id END
            INTO key_sources, key_scopes, key_organization FROM orgs_apikey AS key
            JOIN orgs_organization AS organization ON organization.id = key.organization_id AND organization.is_active
            JOIN orgs_membership AS membership ON membership.organization_id = key.organization_id
                AND membership.user_id = key.user_id AND membership.is_active
            WHERE key.id = identity.key_id AND key.user_id = identity.user_id AND key.revoked_at IS NULL
                AND (key.expires_at IS NULL OR key.expires_at > statement_timestamp());
        IF NOT FOUND THEN
            RETURN;
        END IF;
    END IF;
    wanted := coalesce(action, identity.action);
    -- Viewing needs no particular scope of the key.
    may_query := wanted = 'view' OR (wanted = 'query' AND coalesce('query' = ANY(key_scopes), true));
    may_ingest := wanted = 'view' OR (wanted IN ('ingest', 'write') AND coalesce('ingest' = ANY(key_scopes), true));
    may_manage := wanted = 'view' OR (wanted IN ('manage', 'write') AND coalesce('manage' = ANY(key_scopes), true));
    user_id := identity.user_id;
    organizations := ARRAY(
        SELECT membership.organization_id FROM orgs_membership AS membership
        JOIN orgs_organization AS organization ON organization.id = membership.organization_id
        JOIN accounts_user AS person ON person.id = membership.user_id
        WHERE membership.user_id = identity.user_id AND person.is_active AND membership.is_active
        AND organization.is_active
        AND (key_organization IS NULL OR organization.id = key_organization)
    );
END $$;

-- The organisations whose public sources are open to the caller.
CREATE FUNCTION rag_open_organizations(action text DEFAULT NULL) RETURNS uuid[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN may_query AND key_sources IS NULL THEN organizations ELSE '{}' END FROM rag_caller(action)
$$;

-- The organisations in which a permission opens all sources to the caller, apart from the key's sources.
CREATE FUNCTION rag_permitted_organizations(action text DEFAULT NULL) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    caller record;
BEGIN
    SELECT * INTO caller FROM rag_caller(action);
    IF caller.user_id IS NULL OR NOT (caller.may_ingest OR caller.may_manage) THEN
        RETURN '{}';
    END IF;
    IF caller.may_manage AND orgs_is_superuser() THEN
        RETURN ARRAY(
            SELECT id FROM orgs_organization
            WHERE is_active AND (caller.key_organization IS NULL OR id = caller.key_organization)
        );
    END IF;
    RETURN ARRAY(
        SELECT DISTINCT role.organization_id FROM orgs_membership AS membership
        JOIN orgs_membership_roles AS membership_role ON membership_role.membership_id = membership.id
        JOIN orgs_role AS role ON role.id = membership_role.role_id
            AND role.organization_id = membership.organization_id
        WHERE membership.user_id = caller.user_id AND membership.organization_id = ANY(caller.organizations)
        AND ((caller.may_ingest AND 'sources.ingest' = ANY(role.permissions))
            OR (caller.may_manage AND 'sources.manage' = ANY(role.permissions)))
    );
END $$;

CREATE FUNCTION rag_whole_organizations(action text DEFAULT NULL) RETURNS uuid[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN key_sources IS NULL THEN rag_permitted_organizations(action) ELSE '{}' END FROM rag_caller(action)
$$;

-- The other sources that are open to the caller: granted or owned ones, and all if the key is restricted to sources.
-- A set and not an array: PostgreSQL would call `unnest` of a function while it plans, each time that it occurs.
CREATE FUNCTION rag_listed_sources(action text DEFAULT NULL) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    caller record;
    listed uuid[];
BEGIN
    SELECT * INTO caller FROM rag_caller(action);
    IF caller.user_id IS NULL THEN
        RETURN;
    END IF;
    listed := ARRAY(
        SELECT source.id FROM rag_datasource AS source
        WHERE source.owner_id = caller.user_id AND source.deleted_at IS NULL
        AND source.organization_id = ANY(caller.organizations)
        AND (caller.may_ingest OR caller.may_manage OR (caller.may_query AND source.visibility = 'personal'))
    );
    IF caller.may_query THEN
        listed := listed || ARRAY(
            WITH RECURSIVE memberships AS (
                SELECT id, organization_id FROM orgs_membership
                WHERE user_id = caller.user_id AND organization_id = ANY(caller.organizations)
            ), joined_teams AS (
                SELECT team.id, team.organization_id, team.parent_id FROM memberships
                JOIN orgs_membership_teams AS membership_team ON membership_team.membership_id = memberships.id
                JOIN orgs_team AS team ON team.id = membership_team.team_id
                    AND team.organization_id = memberships.organization_id
                UNION
                SELECT parent_team.id, parent_team.organization_id, parent_team.parent_id FROM joined_teams
                JOIN orgs_team AS parent_team ON parent_team.id = joined_teams.parent_id
                    AND parent_team.organization_id = joined_teams.organization_id
            ), effective_grants AS (
                SELECT source_id, expires_at, 'private' AS visibility, NULL::uuid AS organization_id FROM rag_grant
                    WHERE user_id = caller.user_id
                UNION ALL
                SELECT source_id, expires_at, 'role', role.organization_id FROM memberships
                    JOIN orgs_membership_roles AS membership_role ON membership_role.membership_id = memberships.id
                    JOIN orgs_role AS role ON role.id = membership_role.role_id
                        AND role.organization_id = memberships.organization_id
                    JOIN rag_grant ON rag_grant.role_id = role.id
                UNION ALL
                SELECT source_id, expires_at, 'team', joined_teams.organization_id FROM joined_teams
                    JOIN rag_grant ON rag_grant.team_id = joined_teams.id
            )
            SELECT DISTINCT source.id FROM effective_grants
            JOIN rag_datasource AS source ON source.id = effective_grants.source_id
                AND source.visibility = effective_grants.visibility AND source.deleted_at IS NULL
                AND source.organization_id = ANY(caller.organizations)
            WHERE (effective_grants.expires_at IS NULL OR effective_grants.expires_at > statement_timestamp())
            AND (effective_grants.organization_id IS NULL
                OR effective_grants.organization_id = source.organization_id)
        );
    END IF;
    IF caller.key_sources IS NOT NULL THEN
        RETURN QUERY
            SELECT source.id FROM rag_datasource AS source
            WHERE source.id = ANY(caller.key_sources) AND source.deleted_at IS NULL AND (
                source.id = ANY(listed)
                OR (caller.may_query AND source.visibility = 'public'
                    AND source.organization_id = ANY(caller.organizations))
                OR source.organization_id = ANY((SELECT rag_permitted_organizations(action))::uuid[])
            );
        RETURN;
    END IF;
    RETURN QUERY SELECT DISTINCT unnest(listed);
END $$;

-- The same rule as a list, for few rows and for tests.
CREATE OR REPLACE FUNCTION rag_visible_sources(action text) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    open CONSTANT uuid[] := rag_open_organizations(action);
    whole CONSTANT uuid[] := rag_whole_organizations(action);
BEGIN
    RETURN ARRAY(
        SELECT id FROM rag_datasource WHERE deleted_at IS NULL AND visibility = 'public' AND organization_id = ANY(open)
        UNION SELECT id FROM rag_datasource WHERE deleted_at IS NULL AND organization_id = ANY(whole)
        UNION SELECT rag_listed_sources(action)
    );
END $$;

-- Those of these sources that the transaction's identity may use for its action. Workers may use all.
CREATE OR REPLACE FUNCTION rag_permitted_sources(sources uuid[]) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    open uuid[];
    whole uuid[];
    listed uuid[];
BEGIN
    IF NOT ragsite_is_request() THEN
        RETURN sources;
    END IF;
    open := rag_open_organizations();
    whole := rag_whole_organizations();
    listed := ARRAY(SELECT rag_listed_sources());
    RETURN ARRAY(
        SELECT id FROM rag_datasource WHERE id = ANY(sources) AND deleted_at IS NULL AND (
            (visibility = 'public' AND organization_id = ANY(open)) OR organization_id = ANY(whole) OR id = ANY(listed)
        )
    );
END $$;

-- Policies. Each subquery without a column of the row is evaluated once per statement, and only if it is needed.
DO $$
DECLARE
    condition CONSTANT text := $sql$(deleted_at IS NULL AND (
        (visibility = 'public' AND organization_id = ANY((SELECT rag_open_organizations(%1$s))::uuid[]))
        OR organization_id = ANY((SELECT rag_whole_organizations(%1$s))::uuid[])
        OR id IN (SELECT rag_listed_sources(%1$s))))$sql$;
    -- An update that deletes a source: its caller may still see it by the rows before the statement.
    being_deleted CONSTANT text :=
        $sql$(deleted_at IS NOT NULL AND id = ANY((SELECT rag_visible_sources(%1$s))::uuid[]))$sql$;
    -- A scalar subquery, which reads the one source by its key. PostgreSQL would turn EXISTS or IN into a list of all.
    -- The policy of the sources adds the condition for 'view'.
    by_source CONSTANT text := '(SELECT true FROM rag_datasource WHERE id = source_id AND %s)';
    protected record;
BEGIN
    FOR protected IN
        SELECT * FROM (VALUES
            ('rag_document', 'readers', 'true'),
            ('rag_original', 'readers', format(condition, $sql$'write'$sql$)),
            ('rag_ingestionjob', 'readers', format(condition, $sql$'write'$sql$)),
            ('rag_ingestiondocument', 'readers', format(condition, $sql$'write'$sql$)),
            ('rag_reembedding', 'readers', format(condition, $sql$'write'$sql$)),
            ('rag_grant', 'readers_select', 'true'),
            -- What the transaction declared, to query or to write.
            ('rag_chunk', 'readers', format(condition, '')),
            ('rag_embedding384', 'readers', format(condition, '')),
            ('rag_embedding512', 'readers', format(condition, '')),
            ('rag_embedding768', 'readers', format(condition, '')),
            ('rag_embedding1536', 'readers', format(condition, '')),
            ('rag_embedding3072', 'readers', format(condition, '')),
            ('rag_chunkterms', 'readers', format(condition, '')),
            ('rag_sourceterm', 'readers', format(condition, '')),
            ('rag_sourceconfig', 'readers', format(condition, ''))
        ) AS policies (table_name, policy, source_condition)
    LOOP
        EXECUTE format(
            'ALTER POLICY %I ON %I USING (%s)', protected.policy, protected.table_name,
            format(by_source, protected.source_condition)
        );
    END LOOP;
    -- Grants: a policy for all commands would also be evaluated by each SELECT.
    DROP POLICY readers_write ON rag_grant;
    EXECUTE format(
        'CREATE POLICY readers_insert ON rag_grant FOR INSERT TO ragsite_reader WITH CHECK (%s)',
        format(by_source, format(condition, $sql$'manage'$sql$))
    );
    EXECUTE format(
        'CREATE POLICY readers_update ON rag_grant FOR UPDATE TO ragsite_reader USING (%s)',
        format(by_source, format(condition, $sql$'manage'$sql$))
    );
    EXECUTE format(
        'CREATE POLICY readers_delete ON rag_grant FOR DELETE TO ragsite_reader USING (%s)',
        format(by_source, format(condition, $sql$'manage'$sql$))
    );
    EXECUTE format(
        'ALTER POLICY readers_select ON rag_datasource USING (%s OR %s)',
        format(condition, $sql$'view'$sql$), format(being_deleted, $sql$'view'$sql$)
    );
    EXECUTE format(
        'ALTER POLICY readers_update ON rag_datasource USING (%s OR %s)',
        format(condition, $sql$'write'$sql$), format(being_deleted, $sql$'write'$sql$)
    );
END $$;
