-- Whether few chunks have one of these terms, so that reading them by the index of terms takes less time than comparing
-- each chunk of the scope: at most a third as many. The index has the chunks of all sources, so it is used only if the
-- scope has at least a quarter of them, and the others are assumed to have the terms as often.
CREATE FUNCTION rag_are_rare(scope rag_scope, wanted_terms integer[]) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    others CONSTANT uuid[] := rag_other_sources(scope);
    counted CONSTANT double precision := (
        SELECT sum(chunks) FROM (
            SELECT chunks FROM rag_organizationconfig WHERE access_list_id = ANY(scope.lists)
            UNION ALL SELECT chunks FROM rag_sourceconfig WHERE source_id = ANY(others)
        ) AS counts
    );
    -- Not known before the table's first analysis.
    existing CONSTANT double precision := greatest(counted, (
        SELECT reltuples FROM pg_class WHERE oid = 'public.rag_chunkterms'::regclass
    ));
BEGIN
    RETURN 4 * counted >= existing AND 3 * existing * (
        SELECT coalesce(sum(chunks), 0) FROM (
            SELECT chunks FROM rag_organizationterm WHERE access_list_id = ANY(scope.lists) AND term = ANY(wanted_terms)
            UNION ALL SELECT chunks FROM rag_sourceterm WHERE source_id = ANY(others) AND term = ANY(wanted_terms)
        ) AS counts
    ) <= counted * counted;
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
