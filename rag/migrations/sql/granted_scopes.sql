-- Scopes that name a member's grants instead of listing the sources that they open. So thousands of such sources are
-- read by the statements that search, and never sent.
DROP FUNCTION rag_permitted_scope, rag_count_terms;

-- What opens sources that are not public, as the application knows it: a member, their roles and their teams with all
-- teams that contain these, in organisations where the member is active. NULL for the member: nothing.
CREATE TYPE rag_grants AS (user_id uuid, roles uuid[], teams uuid[], organizations uuid[]);
ALTER TYPE rag_scope ADD ATTRIBUTE granted rag_grants;

-- The sources that grants and ownership open to queries. Some occur more than once. PostgreSQL puts this query in place
-- of its call, so the caller's conditions apply to each part.
CREATE FUNCTION rag_granted_rows(member uuid, roles uuid[], teams uuid[], organizations uuid[])
RETURNS TABLE (
    id uuid, organization_id uuid, embedding_model_id uuid, second_model_id uuid, second_model_ready_at timestamptz
)
LANGUAGE sql STABLE AS $$
    SELECT source.id, source.organization_id, source.embedding_model_id, source.second_model_id,
        source.second_model_ready_at
    FROM public.rag_grant AS access JOIN public.rag_datasource AS source ON source.id = access.source_id
    WHERE access.user_id = $1 AND source.visibility = 'private' AND source.deleted_at IS NULL
    AND source.organization_id = ANY($4) AND (access.expires_at IS NULL OR access.expires_at > statement_timestamp())
    UNION ALL
    SELECT source.id, source.organization_id, source.embedding_model_id, source.second_model_id,
        source.second_model_ready_at
    FROM public.rag_grant AS access JOIN public.rag_datasource AS source ON source.id = access.source_id
    JOIN public.orgs_role AS role ON role.id = access.role_id AND role.organization_id = source.organization_id
    WHERE access.role_id = ANY($2) AND source.visibility = 'role' AND source.deleted_at IS NULL
    AND source.organization_id = ANY($4) AND (access.expires_at IS NULL OR access.expires_at > statement_timestamp())
    UNION ALL
    SELECT source.id, source.organization_id, source.embedding_model_id, source.second_model_id,
        source.second_model_ready_at
    FROM public.rag_grant AS access JOIN public.rag_datasource AS source ON source.id = access.source_id
    JOIN public.orgs_team AS team ON team.id = access.team_id AND team.organization_id = source.organization_id
    WHERE access.team_id = ANY($3) AND source.visibility = 'team' AND source.deleted_at IS NULL
    AND source.organization_id = ANY($4) AND (access.expires_at IS NULL OR access.expires_at > statement_timestamp())
    UNION ALL
    SELECT source.id, source.organization_id, source.embedding_model_id, source.second_model_id,
        source.second_model_ready_at
    FROM public.rag_datasource AS source
    WHERE source.owner_id = $1 AND source.visibility = 'personal' AND source.deleted_at IS NULL
    AND source.organization_id = ANY($4)
$$;

-- The grants without what the transaction's identity does not have: another member, roles, teams or organisations of
-- others. Nothing is left with an API key that may not query or is restricted to sources.
CREATE FUNCTION rag_permitted_grants(wanted rag_grants) RETURNS rag_grants
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    caller record;
    own_roles uuid[];
    own_teams uuid[];
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
        own_roles := ARRAY(
            SELECT role.id FROM orgs_membership AS membership
            JOIN orgs_membership_roles AS membership_role ON membership_role.membership_id = membership.id
            JOIN orgs_role AS role ON role.id = membership_role.role_id
                AND role.organization_id = membership.organization_id
            WHERE membership.user_id = caller.user_id AND membership.organization_id = ANY(caller.organizations)
        );
        wanted.roles := ARRAY(SELECT unnest(wanted.roles) INTERSECT SELECT unnest(own_roles));
    END IF;
    IF cardinality(wanted.teams) > 0 THEN
        own_teams := ARRAY(
            WITH RECURSIVE joined_teams AS (
                SELECT team.id, team.organization_id, team.parent_id FROM orgs_membership AS membership
                JOIN orgs_membership_teams AS membership_team ON membership_team.membership_id = membership.id
                JOIN orgs_team AS team ON team.id = membership_team.team_id
                    AND team.organization_id = membership.organization_id
                WHERE membership.user_id = caller.user_id AND membership.organization_id = ANY(caller.organizations)
                UNION
                SELECT parent_team.id, parent_team.organization_id, parent_team.parent_id FROM joined_teams
                JOIN orgs_team AS parent_team ON parent_team.id = joined_teams.parent_id
                    AND parent_team.organization_id = joined_teams.organization_id
            ) SELECT id FROM joined_teams
        );
        wanted.teams := ARRAY(SELECT unnest(wanted.teams) INTERSECT SELECT unnest(own_teams));
    END IF;
    RETURN wanted;
END $$;

-- Those of these organisations whose public sources the transaction's identity may query. Workers may query all.
CREATE FUNCTION rag_permitted_public(organizations uuid[]) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
BEGIN
    IF cardinality(organizations) = 0 THEN
        RETURN organizations;
    ELSIF ragsite_is_request() THEN
        RETURN ARRAY(SELECT unnest(organizations) INTERSECT SELECT unnest(rag_open_organizations()));
    ELSIF ragsite_is_limited_staff() THEN
        RETURN ARRAY(SELECT unnest(organizations) INTERSECT SELECT unnest(orgs_own_organizations()));
    END IF;
    RETURN organizations;
END $$;

-- The scope without what the transaction's identity may not use for its action, and with the sources that its grants
-- open. Workers may use all, and pages of the admin what belongs to their user's organisations. Sources that have been
-- switched to another model since the scope was built are added: their old vectors still exist.
CREATE FUNCTION rag_permitted_scope(wanted rag_scope) RETURNS rag_scope
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    granted CONSTANT rag_grants := rag_permitted_grants(wanted.granted);
    switched uuid[] := '{}';
BEGIN
    IF ragsite_is_request() OR ragsite_is_limited_staff() THEN
        wanted.organizations := rag_permitted_public(wanted.organizations);
        IF cardinality(wanted.sources) > 0 THEN
            wanted.sources := rag_permitted_sources(wanted.sources);
        END IF;
    END IF;
    wanted.granted := NULL;
    IF wanted.model IS NOT NULL AND (cardinality(wanted.organizations) > 0 OR granted.user_id IS NOT NULL) THEN
        switched := ARRAY(
            SELECT source_id FROM rag_reembedding AS reembedding WHERE reembedding.from_model_id = wanted.model
            AND reembedding.state = 'switched'
            AND reembedding.switched_at > statement_timestamp() - interval '5 minutes'
        );
        IF cardinality(switched) > 0 THEN
            wanted.sources := wanted.sources || ARRAY(
                SELECT id FROM rag_datasource WHERE id = ANY(switched) AND visibility = 'public'
                AND deleted_at IS NULL AND organization_id = ANY(wanted.organizations)
            );
        END IF;
    END IF;
    IF granted.user_id IS NOT NULL THEN
        wanted.sources := wanted.sources || ARRAY(
            SELECT DISTINCT source.id
            FROM rag_granted_rows(granted.user_id, granted.roles, granted.teams, granted.organizations) AS source
            WHERE wanted.model IS NULL OR source.id = ANY(switched)
            OR (wanted.model_use <> 'second' AND source.embedding_model_id = wanted.model AND (
                wanted.model_use <> 'own_without_second' OR source.second_model_ready_at IS NULL
                OR source.second_model_ready_at > statement_timestamp() - interval '5 minutes'))
            OR (wanted.model_use IN ('second', 'own_or_second') AND source.second_model_id = wanted.model
                AND source.second_model_ready_at IS NOT NULL AND source.embedding_model_id = ANY(wanted.second_of))
        );
    END IF;
    RETURN wanted;
END $$;

-- What a search needs to know before it embeds its question: the granted sources one by one, if they are few, and for
-- each embedding model whether it has public sources, and whether it has granted ones, if they are many.
--   english: the names of the models for English texts only, beside which sources may have a second model.
--   has_without, has_with: there are sources of the model whose second vectors are not complete, or are complete.
--   is_second: there are sources of a model for English that have complete vectors of this model.
CREATE FUNCTION rag_searched_models(organizations uuid[], wanted rag_grants, english text[], max_listed integer)
RETURNS TABLE (
    is_granted boolean, source_id uuid, organization_id uuid, model_id uuid, model_name text, second_id uuid,
    has_without boolean, has_with boolean, is_second boolean
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    open CONSTANT uuid[] := rag_permitted_public(organizations);
    granted CONSTANT rag_grants := rag_permitted_grants(wanted);
    english_models CONSTANT uuid[] := ARRAY(SELECT id FROM rag_embeddingmodel WHERE name = ANY(english));
    listed uuid[];
BEGIN
    RETURN QUERY
    SELECT false, NULL::uuid, NULL::uuid, model.id, model.name::text, NULL::uuid,
        EXISTS (
            SELECT FROM rag_datasource AS source WHERE source.visibility = 'public' AND source.deleted_at IS NULL
            AND source.organization_id = ANY(open) AND source.embedding_model_id = model.id
            AND source.second_model_ready_at IS NULL
        ),
        EXISTS (
            SELECT FROM rag_datasource AS source WHERE source.visibility = 'public' AND source.deleted_at IS NULL
            AND source.organization_id = ANY(open) AND source.embedding_model_id = model.id
            AND source.second_model_ready_at IS NOT NULL
        ),
        EXISTS (
            SELECT FROM rag_datasource AS source WHERE source.visibility = 'public' AND source.deleted_at IS NULL
            AND source.organization_id = ANY(open) AND source.second_model_id = model.id
            AND source.second_model_ready_at IS NOT NULL AND source.embedding_model_id = ANY(english_models)
        )
    FROM rag_embeddingmodel AS model;
    IF granted.user_id IS NULL THEN
        RETURN;
    END IF;
    listed := ARRAY(
        SELECT source.id
        FROM rag_granted_rows(granted.user_id, granted.roles, granted.teams, granted.organizations) AS source
        LIMIT max_listed + 1
    );
    IF cardinality(listed) <= max_listed THEN
        RETURN QUERY
        SELECT true, source.id, source.organization_id, model.id, model.name::text, source.second_model_id,
            source.second_model_ready_at IS NULL, source.second_model_ready_at IS NOT NULL, NULL::boolean
        FROM rag_datasource AS source JOIN rag_embeddingmodel AS model ON model.id = source.embedding_model_id
        WHERE source.id = ANY(listed) ORDER BY source.id;
        RETURN;
    END IF;
    -- An index says whether the organisations have such sources at all. Otherwise all grants would be read.
    RETURN QUERY
    SELECT true, NULL::uuid, NULL::uuid, model.id, model.name::text, NULL::uuid,
        EXISTS (
            SELECT FROM rag_datasource AS source WHERE source.visibility <> 'public' AND source.deleted_at IS NULL
            AND source.organization_id = ANY(granted.organizations) AND source.embedding_model_id = model.id
            AND source.second_model_ready_at IS NULL
        ) AND EXISTS (
            SELECT FROM rag_granted_rows(granted.user_id, granted.roles, granted.teams, granted.organizations) AS source
            WHERE source.embedding_model_id = model.id AND source.second_model_ready_at IS NULL
        ),
        EXISTS (
            SELECT FROM rag_datasource AS source WHERE source.visibility <> 'public' AND source.deleted_at IS NULL
            AND source.organization_id = ANY(granted.organizations) AND source.embedding_model_id = model.id
            AND source.second_model_ready_at IS NOT NULL
        ) AND EXISTS (
            SELECT FROM rag_granted_rows(granted.user_id, granted.roles, granted.teams, granted.organizations) AS source
            WHERE source.embedding_model_id = model.id AND source.second_model_ready_at IS NOT NULL
        ),
        EXISTS (
            SELECT FROM rag_datasource AS source WHERE source.visibility <> 'public' AND source.deleted_at IS NULL
            AND source.organization_id = ANY(granted.organizations) AND source.second_model_id = model.id
            AND source.second_model_ready_at IS NOT NULL AND source.embedding_model_id = ANY(english_models)
        ) AND EXISTS (
            SELECT FROM rag_granted_rows(granted.user_id, granted.roles, granted.teams, granted.organizations) AS source
            WHERE source.second_model_id = model.id AND source.second_model_ready_at IS NOT NULL
            AND source.embedding_model_id = ANY(english_models)
        )
    FROM rag_embeddingmodel AS model;
END $$;

-- How many chunks of the scope's sources each text search configuration has stemmed (rows without a term), and how many
-- of them contain each of the terms. The scope has no model.
CREATE FUNCTION rag_count_terms(wanted rag_scope, wanted_terms integer[])
RETURNS TABLE (config text, term integer, chunks bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    scope CONSTANT rag_scope := rag_permitted_scope(wanted);
    counted CONSTANT rag_statistics := rag_statistics_of(scope);
BEGIN
    RETURN QUERY
    SELECT counts.config::text, NULL::integer, sum(counts.chunks)::bigint FROM (
        SELECT config, chunks FROM unnest(counted.organizations, counted.visibilities) AS wanted (id, visibility)
            JOIN rag_organizationconfig AS total ON organization_id = wanted.id AND total.visibility = wanted.visibility
        UNION ALL SELECT config, chunks FROM rag_sourceconfig WHERE source_id = ANY(counted.added)
        UNION ALL SELECT config, -chunks FROM rag_sourceconfig WHERE source_id = ANY(counted.subtracted)
    ) AS counts GROUP BY counts.config HAVING sum(counts.chunks) > 0
    UNION ALL
    SELECT NULL, counts.term, sum(counts.chunks)::bigint FROM (
        SELECT term, chunks FROM unnest(counted.organizations, counted.visibilities) AS wanted (id, visibility)
            JOIN rag_organizationterm AS total ON organization_id = wanted.id AND total.visibility = wanted.visibility
            WHERE term = ANY(wanted_terms)
        UNION ALL SELECT term, chunks FROM rag_sourceterm
            WHERE source_id = ANY(counted.added) AND term = ANY(wanted_terms)
        UNION ALL SELECT term, -chunks FROM rag_sourceterm
            WHERE source_id = ANY(counted.subtracted) AND term = ANY(wanted_terms)
    ) AS counts GROUP BY counts.term;
END $$;

-- The owner of these tables is subject to their policies; workers are not.
GRANT CREATE ON SCHEMA public TO ragsite_worker;
ALTER FUNCTION rag_permitted_scope(rag_scope) OWNER TO ragsite_worker;
REVOKE CREATE ON SCHEMA public FROM ragsite_worker;
