-- Pages of the admin also see accounts that left their user's organisations and own a source there or have a grant.
DO $$
DECLARE
    present CONSTANT text := (
        SELECT pg_get_expr(polqual, polrelid) FROM pg_policy
        WHERE polrelid = 'accounts_user'::regclass AND polname = 'staff_select'
    );
BEGIN
    EXECUTE format(
        'ALTER POLICY staff_select ON accounts_user USING (%s '
        'OR EXISTS (SELECT FROM rag_datasource WHERE owner_id = accounts_user.id) '
        'OR EXISTS (SELECT FROM rag_grant WHERE accounts_user.id IN (user_id, granted_by_id)))', present
    );
END $$;

-- Those of the sources that belong to the organisations of the admin's user.
CREATE FUNCTION rag_staff_sources(sources uuid[]) RETURNS uuid[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT ARRAY(
        SELECT id FROM rag_datasource WHERE id = ANY(sources) AND organization_id = ANY(orgs_own_organizations())
    )
$$;

-- Those of the sources that the transaction's identity may use for its action. Workers may use all, and
-- pages of the admin those of their user's organisations. Searches call this several times, so what most of them name
-- comes first: public sources of the caller's organisations. Plans are kept, because planning takes longer than reading
-- the sources.
CREATE OR REPLACE FUNCTION rag_permitted_sources(sources uuid[]) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    caller record;
    permitted uuid[];
    whole uuid[];
    listed uuid[];
BEGIN
    IF NOT ragsite_is_request() THEN
        RETURN CASE WHEN ragsite_is_limited_staff() THEN rag_staff_sources(sources) ELSE sources END;
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

-- The new form of a function is created as its owner.
GRANT CREATE ON SCHEMA public TO ragsite_worker;
SET LOCAL ROLE ragsite_worker;
-- The scope without what the transaction's identity may not use for its action. Workers may use all, and pages
-- of the admin what belongs to their user's organisations. Public sources that have been switched to another model since
-- the scope was built are added: their old vectors still exist.
CREATE OR REPLACE FUNCTION rag_permitted_scope(wanted rag_scope) RETURNS rag_scope
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = auto AS $$
BEGIN
    IF ragsite_is_request() THEN
        IF cardinality(wanted.organizations) > 0 THEN
            wanted.organizations := ARRAY(
                SELECT unnest(wanted.organizations) INTERSECT SELECT unnest(rag_open_organizations())
            );
        END IF;
        IF cardinality(wanted.sources) > 0 THEN
            wanted.sources := rag_permitted_sources(wanted.sources);
        END IF;
    ELSIF ragsite_is_limited_staff() THEN
        wanted.organizations := ARRAY(
            SELECT unnest(wanted.organizations) INTERSECT SELECT unnest(orgs_own_organizations())
        );
        wanted.sources := rag_permitted_sources(wanted.sources);
    END IF;
    IF wanted.model IS NOT NULL AND cardinality(wanted.organizations) > 0 THEN
        wanted.sources := wanted.sources || ARRAY(
            SELECT source.id FROM rag_reembedding AS reembedding
            JOIN rag_datasource AS source ON source.id = reembedding.source_id AND source.visibility = 'public'
                AND source.deleted_at IS NULL AND source.organization_id = ANY(wanted.organizations)
            WHERE reembedding.from_model_id = wanted.model AND reembedding.state = 'switched'
            AND reembedding.switched_at > statement_timestamp() - interval '5 minutes'
        );
    END IF;
    RETURN wanted;
END $$;
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM ragsite_worker;
