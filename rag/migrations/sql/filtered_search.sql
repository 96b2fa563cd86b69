-- Searches with filters. Their time depended on all chunks: the words of a question were looked up in all of them, and a
-- filter by date, type or language was compared with each vector. And the recall of searches by the vector index.

-- The condition of a row of `rag_document AS document` that meets the filters, which are $9 to $15.
CREATE FUNCTION rag_document_condition() RETURNS text LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT 'document.deleted_at IS NULL AND ($9 IS NULL OR document.id = ANY($9)) '
        'AND ($10 IS NULL OR document.tags && $10) AND ($11 IS NULL OR document.source_type = ANY($11)) '
        'AND ($12 IS NULL OR document.content_type = ANY($12)) AND ($13 IS NULL OR document.lang = ANY($13)) '
        'AND ($14 IS NULL OR document.date >= $14) AND ($15 IS NULL OR document.date <= $15)'
$$;

-- The scope's documents that meet the filters. Few are counted first, because most filters either match few documents or
-- so many that the index of vectors is used.
--   few: this many documents are always returned.
--   exact_limit: more documents are returned if they have at most this many chunks; else NULL.
--   chunks: the number of chunks, if it is not larger than exact_limit.
DROP FUNCTION rag_tagged_documents;
CREATE FUNCTION rag_matching_documents(
    scope rag_scope, filters rag_filters, few integer, exact_limit integer, OUT documents uuid[], OUT chunks bigint
)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
DECLARE
    maximum integer := few;
BEGIN
    LOOP
        EXECUTE format(
            'SELECT coalesce(array_agg(id), ''{}''), coalesce(sum(chunk_count), 0) FROM ('
            'SELECT document.id, document.chunk_count FROM rag_document AS document '
            'JOIN rag_datasource AS source ON source.id = document.source_id '
            'WHERE %s AND %s AND document.chunk_count > 0 LIMIT $6) AS matching',
            rag_source_condition(scope), rag_document_condition()
        ) INTO documents, chunks USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources,
            maximum + 1, NULL, NULL, NULL::uuid[], filters.tags, filters.source_types, filters.content_types,
            filters.langs, filters.date_from, filters.date_to;
        EXIT WHEN cardinality(documents) <= maximum;
        IF chunks > exact_limit OR maximum >= exact_limit THEN
            documents := NULL;
            EXIT;
        END IF;
        maximum := exact_limit;
    END LOOP;
    IF chunks > exact_limit AND cardinality(documents) > few THEN
        documents := NULL;
    END IF;
END $$;

-- As before, with the largest ef_search that pgvector allows: 800 missed one of twenty of the best ten chunks of a million
-- (docs/growth.md).
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
    PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '1000', true);
    RETURN QUERY EXECUTE format(
        'WITH nearest AS MATERIALIZED (SELECT chunk_id, embedding <=> $13 AS distance FROM %I AS vector '
        'WHERE %s AND %s ORDER BY embedding <=> $13 LIMIT greatest(100, 2 * $14)) '
        'SELECT chunk_id, distance FROM nearest ORDER BY distance + 0, chunk_id LIMIT $14',
        'rag_embedding' || dimensions, rag_vector_condition(), in_scope
    ) USING scope.model, scope.lists, scope.model_use, scope.second_of, listed, filters.documents,
        filters.tags, filters.source_types, filters.content_types, filters.langs, filters.date_from, filters.date_to,
        question, maximum;
END $$;

-- The chunks with the smallest (negative) inner product. required_terms: only chunks with one of them; NULL for all
-- chunks.
CREATE OR REPLACE FUNCTION rag_search_terms(
    query sparsevec, scope rag_scope, required_terms integer[], maximum integer, is_filtered boolean,
    filters rag_filters
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
BEGIN
    -- Documents of the scope that meet the filters, and that are few: each of their chunks is compared.
    IF is_filtered AND filters.documents IS NOT NULL AND required_terms IS NULL THEN
        RETURN QUERY
        SELECT terms.chunk_id, (terms.weights <#> query) + 0 AS distance FROM rag_document AS document
        JOIN rag_chunkterms AS terms ON terms.source_id = document.source_id AND terms.document_id = document.id
        WHERE document.id = ANY(filters.documents) ORDER BY distance, terms.chunk_id LIMIT maximum;
        RETURN;
    END IF;
    -- Access lists whose sources have a large part of all chunks: the matches in all sources are scored and
    -- sorted, and the sources and documents of the best ones are read by their keys, until there are enough. PostgreSQL
    -- would read all chunks of few sources, or make a list of many sources or documents.
    IF required_terms IS NOT NULL AND (
        SELECT 4 * sum(chunks) FROM rag_organizationconfig
        WHERE access_list_id = ANY(scope.lists)
    ) >= (SELECT reltuples FROM pg_class WHERE oid = 'public.rag_chunkterms'::regclass) THEN
        RETURN QUERY EXECUTE format(
            'WITH matches AS MATERIALIZED (SELECT chunk_id, source_id, document_id, (weights <#> $6) + 0 AS distance '
            'FROM rag_chunkterms WHERE terms && $7 AND document_id NOT IN '
            '(SELECT id FROM rag_document WHERE deleted_at IS NOT NULL AND chunk_count > 0) '
            'ORDER BY distance, chunk_id) '
            'SELECT chunk_id, distance FROM matches '
            'WHERE (SELECT true FROM rag_datasource AS source WHERE source.id = source_id AND %s) AND %s LIMIT $8',
            rag_source_condition(scope),
            CASE WHEN is_filtered THEN format(
                '(SELECT true FROM rag_document AS document WHERE document.id = document_id AND %s)',
                rag_document_condition()
            ) ELSE 'true' END
        ) USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources, query, required_terms,
            maximum, filters.documents, filters.tags, filters.source_types, filters.content_types, filters.langs,
            filters.date_from, filters.date_to;
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
            'WHERE ' || rag_source_condition(scope) || ' AND ' || rag_document_condition() || ')'
        ELSE
            'terms.document_id NOT IN (SELECT id FROM rag_document WHERE deleted_at IS NOT NULL AND chunk_count > 0)'
        END
    ) USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources, query, required_terms,
        maximum, filters.documents, filters.tags, filters.source_types, filters.content_types, filters.langs,
        filters.date_from, filters.date_to;
END $$;

GRANT CREATE ON SCHEMA public TO ragsite_worker;
SET LOCAL ROLE ragsite_worker;

-- The candidates of a search in one scope: the nearest chunks, then the others with the best words.
-- rag/migrations/sql/candidates.sql describes the arguments. max_tagged: how many documents that meet the filters are
-- looked up one by one.
CREATE OR REPLACE FUNCTION rag_find_candidates(
    wanted rag_scope, filters rag_filters, dimensions integer, vector text, vector_maximum integer, words sparsevec,
    all_terms integer[], rare_terms integer[], word_maximum integer, chunk_count bigint, scope_chunk_count bigint,
    exact_limit integer, max_tagged integer
) RETURNS TABLE (
    chunk_id uuid, by_vector bigint, by_words bigint, distance double precision, word_distance double precision,
    matched_terms integer[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    scope CONSTANT rag_scope := rag_permitted_scope(wanted);
    is_filtered CONSTANT boolean := num_nonnulls(
        filters.tags, filters.source_types, filters.content_types, filters.langs, filters.date_from, filters.date_to
    ) > 0;
    question CONSTANT halfvec := vector::halfvec;
    -- It decides only if the chunks are few enough.
    source_cost CONSTANT bigint := CASE WHEN coalesce(chunk_count, 0) > exact_limit THEN 0
        ELSE rag_count_sources(scope, exact_limit / 2 + 1) END;
    nearest uuid[] := '{}';
    distances double precision[] := '{}';
    best uuid[] := '{}';
    required_terms integer[];
BEGIN
    IF is_filtered THEN
        SELECT matching.documents, matching.chunks INTO filters.documents, scope_chunk_count
            FROM rag_matching_documents(scope, filters, max_tagged, exact_limit) AS matching;
    END IF;
    IF question IS NOT NULL AND vector_maximum > 0 THEN
        IF scope_chunk_count IS NULL THEN
            scope_chunk_count := rag_count_vectors(dimensions, exact_limit + 1, scope, filters);
        END IF;
        IF rag_is_large(scope_chunk_count, source_cost, exact_limit) THEN
            SELECT array_agg(hit.chunk_id), array_agg(hit.distance) INTO nearest, distances
                FROM rag_nearest_by_index(dimensions, question, vector_maximum, scope, filters) AS hit;
        END IF;
        IF coalesce(cardinality(nearest), 0) < vector_maximum THEN
            SELECT array_agg(hit.chunk_id), array_agg(hit.distance) INTO nearest, distances
                FROM rag_nearest(
                    dimensions, question, vector_maximum, scope, filters,
                    NOT is_filtered AND scope_chunk_count <= exact_limit
                ) AS hit;
        END IF;
    END IF;
    IF words IS NOT NULL AND word_maximum > 0 THEN
        IF rag_is_large(chunk_count, source_cost, exact_limit)
            AND (filters.documents IS NULL OR scope_chunk_count > exact_limit) THEN
            required_terms := rare_terms;
        END IF;
        -- A distance of 0 means that the chunk contains no word of the question. The matching documents may not contain
        -- the rarest words: then all words are looked up.
        LOOP
            SELECT array_agg(hit.chunk_id) INTO best FROM rag_search_terms(
                words, scope, required_terms, word_maximum, is_filtered, filters
            ) AS hit WHERE hit.distance < 0;
            EXIT WHEN NOT is_filtered OR required_terms IS NULL OR required_terms = all_terms
                OR cardinality(best) >= least(word_maximum, 10);
            required_terms := all_terms;
        END LOOP;
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT hit.id, hit.by_vector, hit.by_words, %s, terms.distance, terms.matched FROM ('
        'SELECT coalesce(nearest.id, best.id) AS id, nearest.distance, nearest.place AS by_vector, '
        'best.place AS by_words '
        'FROM unnest($1, $2) WITH ORDINALITY AS nearest (id, distance, place) '
        'FULL JOIN unnest($3) WITH ORDINALITY AS best (id, place) ON nearest.id = best.id) AS hit '
        -- OFFSET 0: each chunk is read by its key.
        'LEFT JOIN LATERAL (SELECT weights <#> $4 AS distance, ARRAY('
        'SELECT term FROM unnest($5) AS term WHERE term = ANY(terms)) AS matched '
        'FROM rag_chunkterms AS stored WHERE stored.chunk_id = hit.id OFFSET 0) AS terms ON true '
        'ORDER BY hit.by_vector, hit.by_words',
        CASE WHEN question IS NULL THEN 'NULL::double precision' ELSE format(
            'coalesce(hit.distance, (SELECT embedding <=> $6 FROM %I AS vector '
            'WHERE vector.chunk_id = hit.id AND vector.model_id = $7))', 'rag_embedding' || dimensions
        ) END
    ) USING nearest, distances, best, words, all_terms, question, scope.model;
END $$;
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM ragsite_worker;
