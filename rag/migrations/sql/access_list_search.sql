-- Searches whose scopes have access lists instead of organisations. The functions are those of candidates.sql,
-- source_lists.sql and qdrant.sql in all other respects.

-- The nearest chunks, each of them compared. With `+ 0` PostgreSQL cannot use the index of vectors, which would miss
-- some.
--   by_source: the chunks are found by their sources. If these are many, PostgreSQL would read those of all
--   organisations.
CREATE OR REPLACE FUNCTION rag_nearest(
    dimensions integer, question halfvec, maximum integer, scope rag_scope, filters rag_filters, by_source boolean
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        CASE WHEN by_source THEN
            'SELECT chunk_id, (embedding <=> $13) + 0 AS distance FROM %I AS vector '
        ELSE
            'SELECT chunk_id, (embedding <=> $13) + 0 AS distance FROM %I AS vector '
            'JOIN rag_datasource AS source ON source.id = source_id '
        END || 'WHERE %s AND %s ORDER BY distance, chunk_id LIMIT $14',
        'rag_embedding' || dimensions,
        CASE WHEN by_source THEN rag_in_source_list(scope) ELSE rag_source_condition(scope) END, rag_vector_condition()
    ) USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources, filters.documents,
        filters.tags, filters.source_types, filters.content_types, filters.langs, filters.date_from, filters.date_to,
        question, maximum;
END $$;

-- The nearest chunks by the HNSW index, which may miss some and returns fewer in a narrow scope. Other plans are off:
-- PostgreSQL would choose the exact search. The source of each row that the index returns is read by its key: the index
-- returns hundreds of rows. The index returns its results only roughly in order: fetch more, sort, cut.
CREATE OR REPLACE FUNCTION rag_nearest_by_index(
    dimensions integer, question halfvec, maximum integer, scope rag_scope, filters rag_filters
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp
SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    listed CONSTANT uuid[] := scope.sources;
    in_scope text := 'source_id = ANY($5)';
BEGIN
    IF cardinality(scope.lists) > 0 THEN
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
    PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '800', true);
    RETURN QUERY EXECUTE format(
        'WITH nearest AS MATERIALIZED (SELECT chunk_id, embedding <=> $13 AS distance FROM %I AS vector '
        'WHERE %s AND %s ORDER BY embedding <=> $13 LIMIT greatest(100, 2 * $14)) '
        'SELECT chunk_id, distance FROM nearest ORDER BY distance + 0, chunk_id LIMIT $14',
        'rag_embedding' || dimensions, rag_vector_condition(), in_scope
    ) USING scope.model, scope.lists, scope.model_use, scope.second_of, listed, filters.documents,
        filters.tags, filters.source_types, filters.content_types, filters.langs, filters.date_from, filters.date_to,
        question, maximum;
END $$;

-- The number of vectors that meet the condition, but not more than the maximum.
CREATE OR REPLACE FUNCTION rag_count_vectors(dimensions integer, maximum integer, scope rag_scope, filters rag_filters)
RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
DECLARE
    counted bigint;
BEGIN
    EXECUTE format(
        'SELECT count(*) FROM (SELECT FROM %I AS vector JOIN rag_datasource AS source ON source.id = source_id '
        'WHERE %s AND %s LIMIT $13) AS rows',
        'rag_embedding' || dimensions, rag_source_condition(scope), rag_vector_condition()
    ) INTO counted USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources,
        filters.documents, filters.tags, filters.source_types, filters.content_types, filters.langs, filters.date_from,
        filters.date_to, maximum;
    RETURN counted;
END $$;

-- The number of sources in the scope, but not more than the maximum.
CREATE OR REPLACE FUNCTION rag_count_sources(scope rag_scope, maximum integer) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
DECLARE
    counted bigint := cardinality(scope.sources);
BEGIN
    IF cardinality(scope.lists) > 0 AND maximum > counted THEN
        EXECUTE format(
            'SELECT count(*) FROM (SELECT FROM rag_datasource AS source WHERE %s LIMIT $6) AS rows',
            rag_source_condition(scope)
        ) INTO counted USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources, maximum;
    END IF;
    RETURN counted;
END $$;

-- The chunks with the smallest (negative) inner product. required_terms: only chunks with one of them; NULL for all
-- chunks.
CREATE OR REPLACE FUNCTION rag_search_terms(
    query sparsevec, scope rag_scope, required_terms integer[], maximum integer, is_filtered boolean,
    filters rag_filters
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
BEGIN
    -- Access lists whose sources have a large part of all chunks: the matches in all sources are scored and
    -- sorted, and the sources of the best ones are read by their keys, until there are enough. PostgreSQL
    -- would read all chunks of few sources, or make a list of many sources.
    IF required_terms IS NOT NULL AND NOT is_filtered AND (
        SELECT 4 * sum(chunks) FROM rag_organizationconfig
        WHERE access_list_id = ANY(scope.lists)
    ) >= (SELECT reltuples FROM pg_class WHERE oid = 'public.rag_chunkterms'::regclass) THEN
        RETURN QUERY EXECUTE format(
            'WITH matches AS MATERIALIZED (SELECT chunk_id, source_id, (weights <#> $6) + 0 AS distance '
            'FROM rag_chunkterms WHERE terms && $7 AND document_id NOT IN '
            '(SELECT id FROM rag_document WHERE deleted_at IS NOT NULL AND chunk_count > 0) '
            'ORDER BY distance, chunk_id) '
            'SELECT chunk_id, distance FROM matches '
            'WHERE (SELECT true FROM rag_datasource AS source WHERE source.id = source_id AND %s) LIMIT $8',
            rag_source_condition(scope)
        ) USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources, query,
            required_terms, maximum;
        RETURN;
    END IF;
    -- With `+ 0` PostgreSQL cannot use an index on the vectors for the order. If each chunk is compared, those of
    -- the sources are read with one scan of an index.
    RETURN QUERY EXECUTE format(
        'SELECT chunk_id, (terms.weights <#> $6) + 0 AS distance FROM ' ||
        CASE WHEN required_terms IS NULL AND NOT is_filtered THEN
            'rag_chunkterms AS terms '
        ELSE
            'rag_chunkterms AS terms JOIN rag_datasource AS source ON source.id = terms.source_id '
        END ||
        'WHERE %s AND ($7 IS NULL OR terms.terms && $7) AND %s ORDER BY distance, chunk_id LIMIT $8',
        CASE WHEN required_terms IS NULL AND NOT is_filtered THEN
            rag_in_source_list(scope)
        ELSE
            rag_source_condition(scope)
        END,
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
    ) USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources, query, required_terms,
        maximum, filters.documents, filters.tags, filters.source_types, filters.content_types, filters.langs,
        filters.date_from, filters.date_to;
END $$;

-- The ids of the scope's documents with one of the tags, which an index finds; NULL if they are more than the maximum.
CREATE OR REPLACE FUNCTION rag_tagged_documents(scope rag_scope, wanted_tags text[], maximum integer) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
DECLARE
    found uuid[];
BEGIN
    EXECUTE format(
        'SELECT ARRAY(SELECT document.id FROM rag_document AS document '
        'JOIN rag_datasource AS source ON source.id = document.source_id WHERE %s AND tags && $6 LIMIT $7)',
        rag_source_condition(scope)
    ) INTO found USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources,
        wanted_tags, maximum + 1;
    RETURN CASE WHEN cardinality(found) <= maximum THEN found END;
END $$;

GRANT CREATE ON SCHEMA public TO ragsite_worker;
SET LOCAL ROLE ragsite_worker;

-- The sources of a scope that the transaction's identity may use, with their organisations.
CREATE OR REPLACE FUNCTION rag_list_scope(wanted rag_scope) RETURNS TABLE (source_id uuid, organization_id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    scope CONSTANT rag_scope := rag_permitted_scope(wanted);
BEGIN
    RETURN QUERY EXECUTE 'SELECT source.id, source.organization_id FROM rag_datasource AS source '
        'WHERE source.deleted_at IS NULL AND ' || rag_source_condition(scope)
    USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources;
END $$;

-- The scores of those of these chunks that exist, match the filters and belong to a source that the transaction's
-- identity may use at this moment. Nothing is taken from where the ids were found.
CREATE OR REPLACE FUNCTION rag_score_chunks(
    wanted rag_scope, filters rag_filters, dimensions integer, vector text, words sparsevec, all_terms integer[],
    chunk_ids uuid[]
) RETURNS TABLE (
    chunk_id uuid, distance double precision, word_distance double precision, matched_terms integer[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    scope CONSTANT rag_scope := rag_permitted_scope(wanted);
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT chunk.id, %s, terms.weights <#> $6, '
        'ARRAY(SELECT term FROM unnest($7) AS term WHERE term = ANY(terms.terms)) '
        'FROM rag_chunk AS chunk '
        'JOIN rag_document AS document ON document.id = chunk.document_id AND document.deleted_at IS NULL '
        'JOIN rag_datasource AS source ON source.id = chunk.source_id AND source.deleted_at IS NULL '
        'LEFT JOIN rag_chunkterms AS terms ON terms.chunk_id = chunk.id '
        'WHERE chunk.id = ANY($8) AND %s '
        'AND ($10 IS NULL OR document.tags && $10) AND ($11 IS NULL OR document.source_type = ANY($11)) '
        'AND ($12 IS NULL OR document.content_type = ANY($12)) AND ($13 IS NULL OR document.lang = ANY($13)) '
        'AND ($14 IS NULL OR document.date >= $14) AND ($15 IS NULL OR document.date <= $15)',
        CASE WHEN vector IS NULL THEN 'NULL::double precision' ELSE format(
            '(SELECT embedding <=> $9 FROM %I AS stored WHERE stored.chunk_id = chunk.id AND stored.model_id = $1)',
            'rag_embedding' || dimensions
        ) END,
        rag_source_condition(scope)
    ) USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources, words, all_terms,
        chunk_ids, vector::halfvec, filters.tags, filters.source_types, filters.content_types, filters.langs,
        filters.date_from, filters.date_to;
END $$;
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM ragsite_worker;
