-- Questions whose words are all common: only chunks with two of them are read.

-- Further terms of a question, if many chunks have one of those that are looked up: a chunk must have one of them too. A
-- chunk with a single word of a question is seldom among the best. NULL if few chunks have one of the required terms
-- (as in _MAX_LOOKED_UP_CHUNKS of rag/providers/stores/pgvector/bm25_query.py), or if there are no others.
-- The rarest ones, as long as reading their index entries takes no longer than reading so many rows.
CREATE FUNCTION rag_further_terms(scope rag_scope, required_terms integer[], all_terms integer[]) RETURNS integer[]
LANGUAGE plpgsql STABLE STRICT SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    max_rows CONSTANT integer := 5000;
    entries_of_row CONSTANT integer := 50;
    others CONSTANT uuid[] := rag_other_sources(scope);
BEGIN
    RETURN (
        WITH counts AS (
            SELECT term, sum(chunks) AS chunks FROM (
                SELECT term, chunks FROM rag_organizationterm
                WHERE access_list_id = ANY(scope.lists) AND term = ANY(all_terms)
                UNION ALL
                SELECT term, chunks FROM rag_sourceterm WHERE source_id = ANY(others) AND term = ANY(all_terms)
            ) AS counted GROUP BY term
        )
        SELECT array_agg(term) FROM (
            SELECT term, chunks, sum(chunks) OVER (ORDER BY chunks, term) AS total FROM counts
            WHERE term <> ALL(required_terms)
        ) AS further
        WHERE total <= greatest(chunks, max_rows * entries_of_row)
        AND (SELECT sum(chunks) FROM counts WHERE term = ANY(required_terms)) > max_rows
    );
END $$;

-- The chunks with the smallest (negative) inner product.
--   required_terms: only chunks with one of them; NULL for all chunks.
--   further_terms: if there are any, only chunks that also have one of these.
DROP FUNCTION rag_search_terms;
CREATE FUNCTION rag_search_terms(
    query sparsevec, scope rag_scope, required_terms integer[], further_terms integer[], maximum integer,
    is_filtered boolean, filters rag_filters
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
DECLARE
    has_terms CONSTANT text := CASE WHEN required_terms IS NULL THEN 'true' ELSE 'terms.terms && $7' END
        || CASE WHEN further_terms IS NULL THEN '' ELSE format(' AND terms.terms && %L::integer[]', further_terms) END;
    by_source_list boolean := NOT is_filtered;
BEGIN
    -- Documents of the scope that meet the filters, and that are few: each of their chunks is compared, or each that has
    -- one of the terms. In a subquery PostgreSQL hashes their ids: an index scan for each match would read all of them.
    IF is_filtered AND filters.documents IS NOT NULL THEN
        IF required_terms IS NULL THEN
            RETURN QUERY
            SELECT terms.chunk_id, (terms.weights <#> query) + 0 AS distance FROM rag_document AS document
            JOIN rag_chunkterms AS terms ON terms.source_id = document.source_id AND terms.document_id = document.id
            WHERE document.id = ANY(filters.documents) ORDER BY distance, terms.chunk_id LIMIT maximum;
        ELSE
            RETURN QUERY EXECUTE format(
                'SELECT chunk_id, (weights <#> $6) + 0 AS distance FROM rag_chunkterms AS terms '
                'WHERE %s AND %s AND document_id IN (SELECT unnest($9)) ORDER BY distance, chunk_id LIMIT $8',
                has_terms,
                CASE WHEN rag_are_common_elsewhere(scope, required_terms) THEN rag_in_source_list(scope) ELSE 'true' END
            ) USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources, query, required_terms,
                maximum, filters.documents;
        END IF;
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
            'FROM rag_chunkterms AS terms WHERE %s AND document_id NOT IN '
            '(SELECT id FROM rag_document WHERE deleted_at IS NOT NULL AND chunk_count > 0) '
            'ORDER BY distance, chunk_id) '
            'SELECT chunk_id, distance FROM matches '
            -- Filters first: they exclude more than permissions do in so large a part.
            'WHERE %s AND (SELECT true FROM rag_datasource AS source WHERE source.id = source_id AND %s) LIMIT $8',
            has_terms,
            CASE WHEN is_filtered THEN format(
                '(SELECT true FROM rag_document AS document WHERE document.id = document_id AND %s)',
                rag_document_condition()
            ) ELSE 'true' END,
            rag_source_condition(scope)
        ) USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources, query, required_terms,
            maximum, filters.documents, filters.tags, filters.source_types, filters.content_types, filters.langs,
            filters.date_from, filters.date_to;
        RETURN;
    END IF;
    -- Of a smaller part, two indexes together find the rows that have one of the terms and are in the scope's sources,
    -- so that no other rows are read.
    IF required_terms IS NOT NULL THEN
        by_source_list := rag_are_common_elsewhere(scope, required_terms);
    END IF;
    -- With `+ 0` PostgreSQL cannot use an index on the vectors for the order. If each chunk is compared, those of
    -- the sources are read with one scan of an index.
    RETURN QUERY EXECUTE format(
        'SELECT chunk_id, (terms.weights <#> $6) + 0 AS distance FROM ' ||
        CASE WHEN by_source_list THEN
            'rag_chunkterms AS terms '
        ELSE
            'rag_chunkterms AS terms JOIN rag_datasource AS source ON source.id = terms.source_id '
        END ||
        'WHERE %s AND %s AND %s ORDER BY distance, chunk_id LIMIT $8',
        CASE WHEN by_source_list THEN rag_in_source_list(scope) ELSE rag_source_condition(scope) END,
        has_terms,
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
    known_chunk_count CONSTANT bigint := scope_chunk_count;
    -- It decides only if the chunks are few enough.
    source_cost CONSTANT bigint := CASE WHEN coalesce(chunk_count, 0) > exact_limit THEN 0
        ELSE rag_count_sources(scope, exact_limit / 2 + 1) END;
    nearest uuid[] := '{}';
    distances double precision[] := '{}';
    best uuid[] := '{}';
    required_terms integer[];
    further_terms integer[];
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
                FROM rag_nearest_in_large(
                    dimensions, question, vector_maximum, scope, filters, known_chunk_count, exact_limit, max_tagged
                ) AS hit;
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
        ELSIF NOT is_filtered AND rag_are_rare(scope, all_terms) THEN
            required_terms := all_terms;
        END IF;
        further_terms := rag_further_terms(scope, required_terms, all_terms);
        -- A distance of 0 means that the chunk contains no word of the question. If too few chunks have further terms,
        -- these are not required. The matching documents may not contain the rarest words: then all are looked up.
        LOOP
            SELECT array_agg(hit.chunk_id) INTO best FROM rag_search_terms(
                words, scope, required_terms, further_terms, word_maximum, is_filtered, filters
            ) AS hit WHERE hit.distance < 0;
            EXIT WHEN cardinality(best) >= word_maximum OR (
                further_terms IS NULL AND (
                    NOT is_filtered OR required_terms IS NULL OR required_terms = all_terms
                    OR cardinality(best) >= least(word_maximum, 10)
                )
            );
            IF further_terms IS NULL THEN
                required_terms := all_terms;
            END IF;
            further_terms := NULL;
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
