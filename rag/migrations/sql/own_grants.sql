-- As before, with the user's memberships read first. PostgreSQL joined all memberships and roles of the organisation if it
-- did not know yet how many there are, and kept this plan: with 50 members that took most of a millisecond.
CREATE OR REPLACE FUNCTION rag_permitted_grants(wanted rag_grants) RETURNS rag_grants
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    caller record;
BEGIN
    IF wanted.user_id IS NULL THEN
        RETURN NULL;
    ELSIF NOT ragsite_is_request() THEN
        IF ragsite_is_limited_staff() THEN
            wanted.organizations := ARRAY(
                SELECT unnest(wanted.organizations) INTERSECT SELECT unnest(orgs_own_organizations())
            );
        END IF;
        RETURN wanted;
    END IF;
    SELECT * INTO caller FROM rag_caller(NULL);
    IF caller.user_id IS DISTINCT FROM wanted.user_id OR NOT caller.may_query OR caller.key_sources IS NOT NULL THEN
        RETURN NULL;
    END IF;
    wanted.organizations := ARRAY(
        SELECT unnest(wanted.organizations) INTERSECT SELECT unnest(caller.organizations)
    );
    IF cardinality(wanted.roles) > 0 THEN
        wanted.roles := ARRAY(
            WITH own AS MATERIALIZED (
                SELECT id, organization_id FROM orgs_membership
                WHERE user_id = caller.user_id AND organization_id = ANY(caller.organizations)
            )
            SELECT DISTINCT role.id FROM own
            JOIN orgs_membership_roles AS membership_role ON membership_role.membership_id = own.id
            JOIN orgs_role AS role ON role.id = membership_role.role_id AND role.organization_id = own.organization_id
            WHERE role.id = ANY(wanted.roles)
        );
    END IF;
    IF cardinality(wanted.teams) > 0 THEN
        wanted.teams := ARRAY(
            WITH RECURSIVE own AS MATERIALIZED (
                SELECT id, organization_id FROM orgs_membership
                WHERE user_id = caller.user_id AND organization_id = ANY(caller.organizations)
            ), joined_teams AS (
                SELECT team.id, team.organization_id, team.parent_id FROM own
                JOIN orgs_membership_teams AS membership_team ON membership_team.membership_id = own.id
                JOIN orgs_team AS team ON team.id = membership_team.team_id
                    AND team.organization_id = own.organization_id
                UNION
                SELECT parent_team.id, parent_team.organization_id, parent_team.parent_id FROM joined_teams
                JOIN orgs_team AS parent_team ON parent_team.id = joined_teams.parent_id
                    AND parent_team.organization_id = joined_teams.organization_id
            ) SELECT DISTINCT id FROM joined_teams WHERE id = ANY(wanted.teams)
        );
    END IF;
    RETURN wanted;
END $$;
