-- Lists for a caller to whom thousands of sources are granted one by one: each table of a statement lists these once, and
-- no policy looks up a source for each row.

-- The other sources that are open to the caller: granted or owned ones, and all if the key is restricted to sources. Some
-- occur more than once. The ids of granted sources are an array, which one scan of the key's index looks up in order. With
-- a join, each source would be searched from the root of the index, or all sources of the organisation would be read.
CREATE OR REPLACE FUNCTION rag_listed_sources(action text DEFAULT NULL) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off AS $$
DECLARE
    caller record;
    organization uuid;
BEGIN
    SELECT * INTO caller FROM rag_caller(action);
    IF caller.user_id IS NULL THEN
        RETURN;
    END IF;
    RETURN QUERY
        SELECT id FROM rag_datasource WHERE owner_id = caller.user_id AND deleted_at IS NULL
        AND organization_id = ANY(caller.organizations)
        AND (caller.key_sources IS NULL OR id = ANY(caller.key_sources))
        AND (caller.may_ingest OR caller.may_manage OR (caller.may_query AND visibility = 'personal'));
    IF caller.may_query THEN
        RETURN QUERY
            SELECT id FROM rag_datasource WHERE id = ANY(ARRAY(
                SELECT source_id FROM rag_grant WHERE user_id = caller.user_id
                AND (expires_at IS NULL OR expires_at > statement_timestamp())
            )) AND visibility = 'private' AND deleted_at IS NULL AND organization_id = ANY(caller.organizations)
            AND (caller.key_sources IS NULL OR id = ANY(caller.key_sources));
        -- A grant to a role or team of another organisation has no effect.
        FOREACH organization IN ARRAY caller.organizations LOOP
            RETURN QUERY
                SELECT id FROM rag_datasource WHERE id = ANY(ARRAY(
                    SELECT source_id FROM orgs_membership AS membership
                    JOIN orgs_membership_roles AS membership_role ON membership_role.membership_id = membership.id
                    JOIN orgs_role AS role ON role.id = membership_role.role_id
                        AND role.organization_id = membership.organization_id
                    JOIN rag_grant ON rag_grant.role_id = role.id
                    WHERE membership.user_id = caller.user_id AND membership.organization_id = organization
                    AND (expires_at IS NULL OR expires_at > statement_timestamp())
                )) AND visibility = 'role' AND deleted_at IS NULL AND organization_id = organization
                AND (caller.key_sources IS NULL OR id = ANY(caller.key_sources));
            RETURN QUERY
                SELECT id FROM rag_datasource WHERE id = ANY(ARRAY(
                    WITH RECURSIVE joined_teams AS (
                        SELECT team.id, team.parent_id FROM orgs_membership AS membership
                        JOIN orgs_membership_teams AS membership_team ON membership_team.membership_id = membership.id
                        JOIN orgs_team AS team ON team.id = membership_team.team_id
                            AND team.organization_id = membership.organization_id
                        WHERE membership.user_id = caller.user_id AND membership.organization_id = organization
                        UNION
                        SELECT parent_team.id, parent_team.parent_id FROM joined_teams
                        JOIN orgs_team AS parent_team ON parent_team.id = joined_teams.parent_id
                            AND parent_team.organization_id = organization
                    )
                    SELECT source_id FROM joined_teams JOIN rag_grant ON rag_grant.team_id = joined_teams.id
                    WHERE expires_at IS NULL OR expires_at > statement_timestamp()
                )) AND visibility = 'team' AND deleted_at IS NULL AND organization_id = organization
                AND (caller.key_sources IS NULL OR id = ANY(caller.key_sources));
        END LOOP;
    END IF;
    IF caller.key_sources IS NOT NULL THEN
        RETURN QUERY
            SELECT id FROM rag_datasource WHERE id = ANY(caller.key_sources) AND deleted_at IS NULL AND (
                (caller.may_query AND visibility = 'public' AND organization_id = ANY(caller.organizations))
                OR organization_id = ANY((SELECT rag_permitted_organizations(action))::uuid[])
            );
    END IF;
END $$;

-- A caller's own grants are compared with the list of their sources. The scalar subquery, which looks up the source of a
-- grant, remains for the others: those of stated sources, and those that their managers read.
ALTER POLICY readers_select ON rag_grant USING (
    source_id = ANY((SELECT rag_granted_of_stated())::uuid[])
    OR (user_id = (SELECT user_id FROM ragsite_identity()) AND source_id IN (SELECT rag_listed_sources('view')))
    OR (SELECT true FROM rag_datasource WHERE id = source_id)
);

-- Those of the stated sources that grants and ownership open to queries of the transaction's identity. Sources are stated
-- by their ids or, in the caller's organisations, by their slugs. Whoever states others gets no more: each is checked.
CREATE OR REPLACE FUNCTION rag_granted_of_stated() RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ids uuid[] := string_to_array(nullif(current_setting('rag.sources', true), ''), ',');
    slugs CONSTANT text[] := string_to_array(nullif(current_setting('rag.source_slugs', true), ''), ',');
BEGIN
    IF slugs IS NOT NULL THEN
        ids := ids || ARRAY(
            SELECT id FROM rag_datasource WHERE slug = ANY(slugs) AND deleted_at IS NULL
            AND organization_id = ANY((SELECT organizations FROM rag_caller('query'))::uuid[]) LIMIT 200
        );
    END IF;
    IF ids IS NULL THEN
        RETURN '{}';
    END IF;
    RETURN rag_granted_among(ids[1:200]);
END $$;
