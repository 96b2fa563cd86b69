-- Searches in scopes that name organisations instead of all their public sources. So neither the list of these sources
-- nor their term statistics are read, however many there are.
DROP FUNCTION rag_nearest, rag_nearest_by_index, rag_count_vectors, rag_vector_condition, rag_search_terms,
    rag_count_terms, rag_count_configs, rag_tagged_documents;

-- What a search may read.
--   model: the embedding model whose vectors are compared.
--   organizations: all of their public sources with this model, in the way that model_use says (rag.types.ModelUse).
--   second_of: the embedding models of sources that may have it as their second model.
--   sources: other sources, one by one.
CREATE TYPE rag_scope AS (model uuid, organizations uuid[], model_use text, second_of uuid[], sources uuid[]);

-- The scope without what the transaction's identity may not use for its action. Workers may use all. Public sources that
-- have been switched to another model since the scope was built are added: their old vectors still exist.
CREATE FUNCTION rag_permitted_scope(wanted rag_scope) RETURNS rag_scope
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
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

-- The condition of a row of `rag_datasource AS source` within a permitted scope, whose fields are $1 to $5. What the scope
-- does not need is left out, so that PostgreSQL finds the best plan.
CREATE FUNCTION rag_source_condition(scope rag_scope) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE
        WHEN cardinality(scope.organizations) = 0 THEN 'source.id = ANY($5)'
        WHEN cardinality(scope.sources) = 0 THEN open
        ELSE format('(source.id = ANY($5) OR (%s))', open)
    END
    FROM (VALUES (
        'source.second_model_id = $1 AND source.second_model_ready_at IS NOT NULL '
        'AND source.embedding_model_id = ANY($4)'
    )) AS uses (second), concat(
        'source.visibility = ''public'' AND source.deleted_at IS NULL AND source.organization_id = ANY($2) AND ',
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

-- The listed sources of a permitted scope that its organisations do not include, for statistics.
CREATE FUNCTION rag_other_sources(scope rag_scope) RETURNS uuid[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN cardinality(scope.organizations) = 0 OR cardinality(scope.sources) = 0 THEN scope.sources ELSE ARRAY(
        SELECT id FROM rag_datasource WHERE id = ANY(scope.sources)
        AND NOT (visibility = 'public' AND deleted_at IS NULL AND organization_id = ANY(scope.organizations))
    ) END
$$;

-- How many chunks of the organisations' public sources and of the sources each text search configuration has stemmed.
CREATE FUNCTION rag_count_configs(organizations uuid[], sources uuid[]) RETURNS TABLE (config text, chunks bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    scope CONSTANT rag_scope := rag_permitted_scope(ROW(NULL, organizations, NULL, NULL, sources)::rag_scope);
    others CONSTANT uuid[] := rag_other_sources(scope);
BEGIN
    RETURN QUERY SELECT counts.config::text, sum(counts.chunks)::bigint FROM (
        SELECT config, chunks FROM rag_organizationconfig
            WHERE organization_id = ANY(scope.organizations) AND visibility = 'public'
        UNION ALL SELECT config, chunks FROM rag_sourceconfig WHERE source_id = ANY(others) AND chunks > 0
    ) AS counts GROUP BY counts.config;
END $$;

-- How many of these chunks contain each of the terms.
CREATE FUNCTION rag_count_terms(organizations uuid[], sources uuid[], wanted_terms integer[])
RETURNS TABLE (term integer, chunks bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    scope CONSTANT rag_scope := rag_permitted_scope(ROW(NULL, organizations, NULL, NULL, sources)::rag_scope);
    others CONSTANT uuid[] := rag_other_sources(scope);
BEGIN
    RETURN QUERY SELECT counts.term, sum(counts.chunks)::bigint FROM (
        SELECT term, chunks FROM rag_organizationterm
            WHERE organization_id = ANY(scope.organizations) AND visibility = 'public' AND term = ANY(wanted_terms)
        UNION ALL SELECT term, chunks FROM rag_sourceterm WHERE source_id = ANY(others) AND term = ANY(wanted_terms)
    ) AS counts GROUP BY counts.term;
END $$;

-- The condition of a vector's row, with the scope's model as $1 and the filters as $6 to $12.
CREATE FUNCTION rag_vector_condition() RETURNS text LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT 'model_id = $1 AND ($6 IS NULL OR document_id = ANY($6)) '
        'AND ($7 IS NULL OR tags && $7) AND ($8 IS NULL OR vector.source_type = ANY($8)) '
        'AND ($9 IS NULL OR content_type = ANY($9)) AND ($10 IS NULL OR lang = ANY($10)) '
        'AND ($11 IS NULL OR date >= $11) AND ($12 IS NULL OR date <= $12) '
        -- The vectors of a deleted document stay until it is purged. These ids are read once and hashed.
        'AND document_id NOT IN (SELECT id FROM public.rag_document WHERE deleted_at IS NOT NULL AND chunk_count > 0)'
$$;

-- The nearest chunks, each of them compared. With `+ 0` PostgreSQL cannot use the index, which would miss some.
CREATE FUNCTION rag_nearest(
    dimensions integer, query text, maximum integer, wanted rag_scope, documents uuid[], wanted_tags text[],
    source_types text[], content_types text[], langs text[], date_from timestamptz, date_to timestamptz
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    scope CONSTANT rag_scope := rag_permitted_scope(wanted);
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT chunk_id, (embedding <=> $13::halfvec) + 0 AS distance FROM %I AS vector '
        'JOIN rag_datasource AS source ON source.id = source_id WHERE %s AND %s ORDER BY distance, chunk_id LIMIT $14',
        'rag_embedding' || dimensions, rag_source_condition(scope), rag_vector_condition()
    ) USING scope.model, scope.organizations, scope.model_use, scope.second_of, scope.sources, documents,
        wanted_tags, source_types, content_types, langs, date_from, date_to, query, maximum;
END $$;

-- The nearest chunks by the HNSW index, which may miss some and returns fewer in a narrow scope. Other plans are off:
-- PostgreSQL would choose the exact search. The source of each row that the index returns is read by its key: the index
-- returns hundreds of rows. The index returns its results only roughly in order: fetch more, sort, cut.
CREATE FUNCTION rag_nearest_by_index(
    dimensions integer, query text, maximum integer, wanted rag_scope, documents uuid[], wanted_tags text[],
    source_types text[], content_types text[], langs text[], date_from timestamptz, date_to timestamptz
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    scope rag_scope := rag_permitted_scope(wanted);
    listed CONSTANT uuid[] := scope.sources;
    in_scope text := 'source_id = ANY($5)';
BEGIN
    IF cardinality(scope.organizations) > 0 THEN
        scope.sources := '{}';
        in_scope := format(
            '(SELECT true FROM rag_datasource AS source WHERE source.id = source_id AND %s)',
            rag_source_condition(scope)
        );
        IF cardinality(listed) > 0 THEN
            in_scope := format('(source_id = ANY($5) OR %s)', in_scope);
        END IF;
    END IF;
    -- Not as settings of the function: only a superuser may store settings of an extension, and restore them.
    PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '300', true);
    RETURN QUERY EXECUTE format(
        'WITH nearest AS MATERIALIZED (SELECT chunk_id, embedding <=> $13::halfvec AS distance FROM %I AS vector '
        'WHERE %s AND %s ORDER BY embedding <=> $13::halfvec LIMIT greatest(100, 2 * $14)) '
        'SELECT chunk_id, distance FROM nearest ORDER BY distance + 0, chunk_id LIMIT $14',
        'rag_embedding' || dimensions, rag_vector_condition(), in_scope
    ) USING scope.model, scope.organizations, scope.model_use, scope.second_of, listed, documents,
        wanted_tags, source_types, content_types, langs, date_from, date_to, query, maximum;
END $$;

-- The number of vectors that meet the condition, but not more than the maximum.
CREATE FUNCTION rag_count_vectors(
    dimensions integer, maximum integer, wanted rag_scope, documents uuid[], wanted_tags text[],
    source_types text[], content_types text[], langs text[], date_from timestamptz, date_to timestamptz
) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    scope CONSTANT rag_scope := rag_permitted_scope(wanted);
    counted bigint;
BEGIN
    EXECUTE format(
        'SELECT count(*) FROM (SELECT FROM %I AS vector JOIN rag_datasource AS source ON source.id = source_id '
        'WHERE %s AND %s LIMIT $13) AS rows',
        'rag_embedding' || dimensions, rag_source_condition(scope), rag_vector_condition()
    ) INTO counted USING scope.model, scope.organizations, scope.model_use, scope.second_of, scope.sources,
        documents, wanted_tags, source_types, content_types, langs, date_from, date_to, maximum;
    RETURN counted;
END $$;

-- The chunks with the smallest (negative) inner product. required_terms: only chunks with one of them; NULL for all
-- chunks. The other arguments are filters of documents; NULL for none.
CREATE FUNCTION rag_search_terms(
    query sparsevec, wanted rag_scope, required_terms integer[], maximum integer, is_filtered boolean,
    documents uuid[], wanted_tags text[], source_types text[], content_types text[], langs text[],
    date_from timestamptz, date_to timestamptz
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    scope CONSTANT rag_scope := rag_permitted_scope(wanted);
BEGIN
    -- The public sources of organisations that have a large part of all chunks: the matches of all organisations are
    -- scored and sorted, and the sources of the best ones are read by their keys, until there are enough. PostgreSQL
    -- would read all chunks of few sources, or make a list of many sources.
    IF required_terms IS NOT NULL AND NOT is_filtered AND (
        SELECT 4 * sum(chunks) FROM rag_organizationconfig
        WHERE organization_id = ANY(scope.organizations) AND visibility = 'public'
    ) >= (SELECT reltuples FROM pg_class WHERE oid = 'public.rag_chunkterms'::regclass) THEN
        RETURN QUERY EXECUTE format(
            'WITH matches AS MATERIALIZED (SELECT chunk_id, source_id, (weights <#> $6) + 0 AS distance '
            'FROM rag_chunkterms WHERE terms && $7 AND document_id NOT IN '
            '(SELECT id FROM rag_document WHERE deleted_at IS NOT NULL AND chunk_count > 0) '
            'ORDER BY distance, chunk_id) '
            'SELECT chunk_id, distance FROM matches '
            'WHERE (SELECT true FROM rag_datasource AS source WHERE source.id = source_id AND %s) LIMIT $8',
            rag_source_condition(scope)
        ) USING scope.model, scope.organizations, scope.model_use, scope.second_of, scope.sources, query,
            required_terms, maximum;
        RETURN;
    END IF;
    -- With `+ 0` PostgreSQL cannot use an index on the vectors for the order.
    RETURN QUERY EXECUTE format(
        'SELECT chunk_id, (terms.weights <#> $6) + 0 AS distance FROM rag_chunkterms AS terms '
        'JOIN rag_datasource AS source ON source.id = terms.source_id '
        'WHERE %s AND ($7 IS NULL OR terms.terms && $7) AND %s ORDER BY distance, chunk_id LIMIT $8',
        rag_source_condition(scope),
        CASE WHEN is_filtered THEN
            'terms.document_id IN (SELECT document.id FROM rag_document AS document '
            'JOIN rag_datasource AS source ON source.id = document.source_id '
            'WHERE ' || rag_source_condition(scope) || ' AND document.deleted_at IS NULL '
            'AND ($9 IS NULL OR document.id = ANY($9)) AND ($10 IS NULL OR document.tags && $10) '
            'AND ($11 IS NULL OR document.source_type = ANY($11)) '
            'AND ($12 IS NULL OR document.content_type = ANY($12)) AND ($13 IS NULL OR document.lang = ANY($13)) '
            'AND ($14 IS NULL OR document.date >= $14) AND ($15 IS NULL OR document.date <= $15))'
        ELSE
            'terms.document_id NOT IN (SELECT id FROM rag_document WHERE deleted_at IS NOT NULL AND chunk_count > 0)'
        END
    ) USING scope.model, scope.organizations, scope.model_use, scope.second_of, scope.sources, query, required_terms,
        maximum, documents, wanted_tags, source_types, content_types, langs, date_from, date_to;
END $$;

-- The ids of up to `maximum` documents of the scope with one of these tags. PostgreSQL cannot use the index of tags
-- under row-level security, because its operator is not leakproof.
CREATE FUNCTION rag_tagged_documents(wanted rag_scope, wanted_tags text[], maximum integer) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    scope CONSTANT rag_scope := rag_permitted_scope(wanted);
    found uuid[];
BEGIN
    EXECUTE format(
        'SELECT ARRAY(SELECT document.id FROM rag_document AS document '
        'JOIN rag_datasource AS source ON source.id = document.source_id WHERE %s AND tags && $6 LIMIT $7)',
        rag_source_condition(scope)
    ) INTO found USING scope.model, scope.organizations, scope.model_use, scope.second_of, scope.sources,
        wanted_tags, maximum;
    RETURN found;
END $$;

-- The owner of these tables is subject to their policies; workers are not. The new owner of a function must be able to
-- create one.
GRANT CREATE ON SCHEMA public TO ragsite_worker;
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND proname IN
        ('rag_permitted_scope', 'rag_nearest', 'rag_nearest_by_index', 'rag_count_vectors', 'rag_search_terms',
            'rag_tagged_documents')
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO ragsite_worker', name);
    END LOOP;
END $$;
REVOKE CREATE ON SCHEMA public FROM ragsite_worker;
