-- Scopes by access lists: what a caller may query is a few lists, whatever opens the sources.
DROP FUNCTION rag_granted_rows;
--   lists: the access lists of the scope. rag_permitted_scope sets them, the application does not.
ALTER TYPE rag_scope ADD ATTRIBUTE lists uuid[];

-- The access lists that grants and ownership open to queries.
CREATE FUNCTION rag_granted_lists(wanted rag_grants) RETURNS uuid[]
LANGUAGE sql STABLE SET search_path = public, pg_temp SET enable_bitmapscan = on AS $$
    SELECT ARRAY(
        SELECT id FROM rag_accesslist
        WHERE principals && (wanted.user_id || wanted.roles || wanted.teams)
        AND organization_id = ANY(wanted.organizations)
        AND (expiries IS NULL OR EXISTS (
            SELECT FROM unnest(principals, expiries) AS entry (id, expires_at)
            WHERE entry.id = ANY(wanted.user_id || wanted.roles || wanted.teams)
            AND expires_at > statement_timestamp()
        ))
    )
$$;

-- The access lists of the public sources of these organisations.
CREATE FUNCTION rag_public_lists(organizations uuid[]) RETURNS uuid[]
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT ARRAY(SELECT id FROM rag_accesslist WHERE organization_id = ANY(organizations) AND visibility = 'public')
$$;

-- The condition of a row of `rag_datasource AS source` within a permitted scope, whose fields are $1 to $5. What the scope
-- does not need is left out, so that PostgreSQL finds the best plan.
CREATE OR REPLACE FUNCTION rag_source_condition(scope rag_scope) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN cardinality(scope.lists) = 0 THEN 'source.id = ANY($5)'
        WHEN cardinality(scope.sources) = 0 THEN open
        ELSE format('(source.id = ANY($5) OR (%s))', open)
    END
    FROM (VALUES (
        'source.second_model_id = $1 AND source.second_model_ready_at IS NOT NULL '
        'AND source.embedding_model_id = ANY($4)'
    )) AS uses (second), concat(
        'source.access_list_id = ANY($2) AND source.deleted_at IS NULL AND ',
        CASE scope.model_use
            WHEN 'own' THEN 'source.embedding_model_id = $1'
            -- The second vectors of a source may have become complete since the scope was built.
            WHEN 'own_without_second' THEN 'source.embedding_model_id = $1 AND (source.second_model_ready_at IS NULL '
                'OR source.second_model_ready_at > statement_timestamp() - interval ''5 minutes'')'
            WHEN 'second' THEN second
            ELSE format('(source.embedding_model_id = $1 OR (%s))', second)
        END
    ) AS open
$$;

-- The condition of a row whose source, `source_id`, is within a permitted scope, whose fields are $1 to $5: the ids are
-- listed once, and an index on the sources finds the rows of all of them with one scan. As the result of a subquery,
-- because PostgreSQL would plan with a list of thousands of ids.
CREATE OR REPLACE FUNCTION rag_in_source_list(scope rag_scope) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN cardinality(scope.lists) = 0 THEN 'source_id = ANY((SELECT $5)::uuid[])'
        ELSE format(
            'source_id = ANY(ARRAY(SELECT source.id FROM rag_datasource AS source WHERE %s))',
            rag_source_condition(scope)
        ) END
$$;

-- The listed sources of a permitted scope that its access lists do not include, for statistics.
CREATE OR REPLACE FUNCTION rag_other_sources(scope rag_scope) RETURNS uuid[]
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN cardinality(scope.lists) = 0 OR cardinality(scope.sources) = 0 THEN scope.sources ELSE ARRAY(
        SELECT id FROM rag_datasource WHERE id = ANY(scope.sources)
        AND (deleted_at IS NOT NULL OR access_list_id <> ALL(scope.lists))
    ) END
$$;

-- Which term statistics of a scope are summed. If it lists most sources of an access list, it is the total of this list
-- without the few others. Sources are counted first: usually either all or few of them are in the scope, and lists of
-- thousands of ids take milliseconds to compare.
--   lists: the totals that are added.
--   subtracted: sources whose statistics are subtracted from these totals.
--   added: sources whose statistics are added.
CREATE TYPE rag_statistics AS (lists uuid[], subtracted uuid[], added uuid[]);

CREATE FUNCTION rag_statistics_of(scope rag_scope) RETURNS rag_statistics
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    counted rag_statistics := ROW(scope.lists, '{}', rag_other_sources(scope));
    listed record;
    existing bigint;
    covered uuid[] := '{}';
BEGIN
    IF cardinality(counted.added) < 100 THEN
        RETURN counted;
    END IF;
    FOR listed IN
        SELECT access_list_id AS list, count(*) AS sources FROM rag_datasource
        WHERE id = ANY(counted.added) AND deleted_at IS NULL GROUP BY access_list_id HAVING count(*) >= 100
    LOOP
        existing := (SELECT count(*) FROM rag_datasource WHERE access_list_id = listed.list AND deleted_at IS NULL);
        IF existing < 2 * listed.sources THEN
            covered := covered || listed.list;
            IF existing > listed.sources THEN
                counted.subtracted := counted.subtracted || ARRAY(
                    SELECT id FROM rag_datasource WHERE access_list_id = listed.list AND deleted_at IS NULL
                    EXCEPT SELECT unnest(counted.added)
                );
            END IF;
        END IF;
    END LOOP;
    IF cardinality(covered) > 0 THEN
        counted.lists := counted.lists || covered;
        counted.added := ARRAY(
            SELECT id FROM rag_datasource WHERE id = ANY(counted.added)
            AND (deleted_at IS NOT NULL OR access_list_id <> ALL(covered))
        );
    END IF;
    RETURN counted;
END $$;

-- How many chunks of the scope's sources each text search configuration has stemmed (rows without a term), and how many
-- of them contain each of the terms. The scope has no model.
CREATE OR REPLACE FUNCTION rag_count_terms(wanted rag_scope, wanted_terms integer[])
RETURNS TABLE (config text, term integer, chunks bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    scope CONSTANT rag_scope := rag_permitted_scope(wanted);
    counted CONSTANT rag_statistics := rag_statistics_of(scope);
BEGIN
    RETURN QUERY
    SELECT counts.config::text, NULL::integer, sum(counts.chunks)::bigint FROM (
        SELECT config, chunks FROM rag_organizationconfig WHERE access_list_id = ANY(counted.lists)
        UNION ALL SELECT config, chunks FROM rag_sourceconfig WHERE source_id = ANY(counted.added)
        UNION ALL SELECT config, -chunks FROM rag_sourceconfig WHERE source_id = ANY(counted.subtracted)
    ) AS counts GROUP BY counts.config HAVING sum(counts.chunks) > 0
    UNION ALL
    SELECT NULL, counts.term, sum(counts.chunks)::bigint FROM (
        SELECT term, chunks FROM rag_organizationterm
            WHERE access_list_id = ANY(counted.lists) AND term = ANY(wanted_terms)
        UNION ALL SELECT term, chunks FROM rag_sourceterm
            WHERE source_id = ANY(counted.added) AND term = ANY(wanted_terms)
        UNION ALL SELECT term, -chunks FROM rag_sourceterm
            WHERE source_id = ANY(counted.subtracted) AND term = ANY(wanted_terms)
    ) AS counts GROUP BY counts.term;
END $$;

-- What a search needs to know before it embeds its question: the granted sources one by one, if they are few, and for
-- each embedding model whether it has public sources, and whether it has granted ones, if they are many.
--   english: the names of the models for English texts only, beside which sources may have a second model.
--   has_without, has_with: there are sources of the model whose second vectors are not complete, or are complete.
--   is_second: there are sources of a model for English that have complete vectors of this model.
-- With plain index scans and loops: PostgreSQL would read all sources, or all of a list, to find the first one.
CREATE OR REPLACE FUNCTION rag_searched_models(
    organizations uuid[], wanted rag_grants, english text[], max_listed integer
) RETURNS TABLE (
    is_granted boolean, source_id uuid, organization_id uuid, model_id uuid, model_name text, second_id uuid,
    has_without boolean, has_with boolean, is_second boolean
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
#variable_conflict use_column
DECLARE
    public_lists CONSTANT uuid[] := rag_public_lists(rag_permitted_public(organizations));
    granted CONSTANT rag_grants := rag_permitted_grants(wanted);
    granted_lists CONSTANT uuid[] := CASE WHEN granted.user_id IS NULL THEN '{}' ELSE rag_granted_lists(granted) END;
    listed uuid[] := '{}';
BEGIN
    IF cardinality(granted_lists) > 0 THEN
        listed := ARRAY(
            SELECT id FROM rag_datasource WHERE access_list_id = ANY(granted_lists) AND deleted_at IS NULL
            LIMIT max_listed + 1
        );
    END IF;
    IF cardinality(listed) > 0 AND cardinality(listed) <= max_listed THEN
        RETURN QUERY
        SELECT true, source.id, source.organization_id, model.id, model.name::text, source.second_model_id,
            source.second_model_ready_at IS NULL, source.second_model_ready_at IS NOT NULL, NULL::boolean
        FROM rag_datasource AS source JOIN rag_embeddingmodel AS model ON model.id = source.embedding_model_id
        WHERE source.id = ANY(listed) ORDER BY source.id;
    END IF;
    -- List by list, so that an index on the lists and models answers each part.
    RETURN QUERY
    SELECT opened.is_granted, NULL::uuid, NULL::uuid, model.id, model.name::text, NULL::uuid,
        EXISTS (
            SELECT FROM unnest(opened.lists) AS list JOIN rag_datasource AS source ON source.access_list_id = list
            WHERE source.embedding_model_id = model.id AND source.second_model_ready_at IS NULL
            AND source.deleted_at IS NULL
        ),
        EXISTS (
            SELECT FROM unnest(opened.lists) AS list JOIN rag_datasource AS source ON source.access_list_id = list
            WHERE source.embedding_model_id = model.id AND source.second_model_ready_at IS NOT NULL
            AND source.deleted_at IS NULL
        ),
        EXISTS (
            SELECT FROM unnest(opened.lists) AS list JOIN rag_datasource AS source ON source.access_list_id = list
            WHERE source.second_model_id = model.id AND source.second_model_ready_at IS NOT NULL
            AND source.embedding_model_id = ANY(ARRAY(SELECT id FROM rag_embeddingmodel WHERE name = ANY(english)))
            AND source.deleted_at IS NULL
        )
    FROM rag_embeddingmodel AS model, (
        SELECT false AS is_granted, public_lists AS lists
        UNION ALL SELECT true, granted_lists WHERE cardinality(listed) > max_listed
    ) AS opened;
END $$;

GRANT CREATE ON SCHEMA public TO ragsite_worker;
SET LOCAL ROLE ragsite_worker;

-- The scope without what the transaction's identity may not use for its action, and with the access lists that this
-- opens. Workers may use all, and pages of the admin what belongs to their user's organisations. Sources that have been
-- switched to another model since the scope was built are added: their old vectors still exist.
CREATE OR REPLACE FUNCTION rag_permitted_scope(wanted rag_scope) RETURNS rag_scope
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    granted CONSTANT rag_grants := rag_permitted_grants(wanted.granted);
BEGIN
    IF cardinality(wanted.sources) > 0 AND (ragsite_is_request() OR ragsite_is_limited_staff()) THEN
        wanted.sources := rag_permitted_sources(wanted.sources);
    END IF;
    wanted.lists := '{}';
    IF cardinality(wanted.organizations) > 0 THEN
        wanted.lists := rag_public_lists(rag_permitted_public(wanted.organizations));
    END IF;
    IF granted.user_id IS NOT NULL THEN
        wanted.lists := wanted.lists || rag_granted_lists(granted);
    END IF;
    wanted.organizations := NULL;
    wanted.granted := NULL;
    IF wanted.model IS NOT NULL AND cardinality(wanted.lists) > 0 THEN
        wanted.sources := wanted.sources || ARRAY(
            SELECT source.id FROM rag_reembedding AS reembedding
            JOIN rag_datasource AS source ON source.id = reembedding.source_id AND source.deleted_at IS NULL
                AND source.access_list_id = ANY(wanted.lists)
            WHERE reembedding.from_model_id = wanted.model AND reembedding.state = 'switched'
            AND reembedding.switched_at > statement_timestamp() - interval '5 minutes'
        );
    END IF;
    RETURN wanted;
END $$;

-- The ids of the sources of a scope that the transaction's identity may use, of any model.
CREATE FUNCTION rag_list_sources(wanted rag_scope) RETURNS SETOF uuid
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    scope CONSTANT rag_scope := rag_permitted_scope(wanted);
BEGIN
    RETURN QUERY SELECT id FROM rag_datasource
        WHERE deleted_at IS NULL AND (access_list_id = ANY(scope.lists) OR id = ANY(scope.sources));
END $$;
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM ragsite_worker;
