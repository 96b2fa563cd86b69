-- Those of the sources that the transaction's identity may use for its action. Workers may use all. Searches call this
-- several times, so what most of them name comes first: public sources of the caller's organisations. Plans are kept,
-- because planning takes longer than reading the sources.
CREATE OR REPLACE FUNCTION rag_permitted_sources(sources uuid[]) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    caller record;
    permitted uuid[];
    whole uuid[];
    listed uuid[];
BEGIN
    IF NOT ragsite_is_request() THEN
        RETURN sources;
    END IF;
    SELECT * INTO caller FROM rag_caller(NULL);
    IF caller.user_id IS NULL THEN
        RETURN '{}';
    END IF;
    IF caller.may_query AND caller.key_sources IS NULL THEN
        permitted := ARRAY(
            SELECT id FROM rag_datasource WHERE id = ANY(sources) AND deleted_at IS NULL
            AND visibility = 'public' AND organization_id = ANY(caller.organizations)
        );
        IF cardinality(permitted) = cardinality(sources) THEN
            RETURN permitted;
        END IF;
    END IF;
    whole := rag_whole_organizations();
    listed := ARRAY(SELECT rag_listed_sources());
    RETURN permitted || ARRAY(
        SELECT id FROM rag_datasource WHERE id = ANY(sources) AND deleted_at IS NULL
        AND (organization_id = ANY(whole) OR id = ANY(listed))
    );
END $$;

-- The organisations whose public sources are open to the caller.
CREATE OR REPLACE FUNCTION rag_open_organizations(action text DEFAULT NULL) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    caller record;
BEGIN
    SELECT * INTO caller FROM rag_caller(action);
    RETURN CASE WHEN caller.may_query AND caller.key_sources IS NULL THEN caller.organizations ELSE '{}' END;
END $$;

-- The organisations all of whose sources are open to the caller. No permission opens sources to queries.
CREATE OR REPLACE FUNCTION rag_whole_organizations(action text DEFAULT NULL) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    caller record;
BEGIN
    IF coalesce(action, (SELECT identity.action FROM ragsite_identity() AS identity)) = 'query' THEN
        RETURN '{}';
    END IF;
    SELECT * INTO caller FROM rag_caller(action);
    RETURN CASE WHEN caller.key_sources IS NULL THEN rag_permitted_organizations(action) ELSE '{}' END;
END $$;

-- The condition of a source that is being deleted needs the list of all visible sources. As a CASE, which no index can
-- serve, PostgreSQL reads the list only for such a row and not for each statement about sources.
DO $$
DECLARE
    condition CONSTANT text := $sql$(deleted_at IS NULL AND (
        (visibility = 'public' AND organization_id = ANY((SELECT rag_open_organizations(%1$L))::uuid[]))
        OR organization_id = ANY((SELECT rag_whole_organizations(%1$L))::uuid[])
        OR id IN (SELECT rag_listed_sources(%1$L))))
        OR CASE WHEN deleted_at IS NULL THEN false ELSE id = ANY((SELECT rag_visible_sources(%1$L))::uuid[]) END$sql$;
BEGIN
    EXECUTE format('ALTER POLICY readers_select ON rag_datasource USING (%s)', format(condition, 'view'));
    EXECUTE format('ALTER POLICY readers_update ON rag_datasource USING (%s)', format(condition, 'write'));
END $$;

-- Functions that search plan with their arguments, which would apply to these, too. Their statements need no such plan.
ALTER FUNCTION rag_caller(text) SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION rag_open_organizations(text) SET plan_cache_mode = force_generic_plan;
ALTER FUNCTION ragsite_identity() SET plan_cache_mode = force_generic_plan;
-- It belongs to the workers' role, whose rights the owner of the tables does not inherit.
SET LOCAL ROLE ragsite_worker;
ALTER FUNCTION rag_permitted_scope(rag_scope) SET plan_cache_mode = auto;
RESET ROLE;
