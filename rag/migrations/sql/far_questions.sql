-- Where the index of vectors does not lead to the nearest chunks: questions about something that hardly any chunk is
-- about, and scopes that are about something else (docs/decisions/0081-far-questions.md).

-- The condition that a row of vectors is in the scope, with the arguments of `rag_source_condition`. The source of each
-- row is read by its key.
CREATE FUNCTION rag_row_condition(scope rag_scope) RETURNS text
LANGUAGE plpgsql IMMUTABLE SET search_path = public, pg_temp AS $$
DECLARE
    is_listed CONSTANT boolean := cardinality(scope.sources) > 0;
    condition text;
BEGIN
    IF cardinality(scope.lists) = 0 THEN
        RETURN 'source_id = ANY($5)';
    END IF;
    scope.sources := '{}';
    condition := format(
        '(SELECT true FROM rag_datasource AS source WHERE source.id = source_id AND %s)', rag_source_condition(scope)
    );
    RETURN CASE WHEN is_listed THEN format('(source_id = ANY($5) OR %s)', condition) ELSE condition END;
END $$;

-- The nearest chunks by the HNSW index, which may miss some and returns fewer in a narrow scope. Other plans are off:
-- PostgreSQL would choose the exact search. The index returns its results only roughly in order: fetch more, sort, cut.
--   fetched: how many chunks of the scope are fetched from the index; NULL for all that it returns.
--   max_read: at most so many rows of the index are looked at, in the scope or not; NULL for any number.
DROP FUNCTION rag_nearest_by_index;
CREATE FUNCTION rag_nearest_by_index(
    dimensions integer, question halfvec, maximum integer, scope rag_scope, filters rag_filters, fetched integer,
    max_read integer
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp
SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    -- Not as settings of the function: only a superuser may store settings of an extension, and restore them.
    PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '1000', true);
    RETURN QUERY EXECUTE format(
        'WITH nearest AS MATERIALIZED ('
        || CASE WHEN max_read IS NULL THEN
            'SELECT chunk_id, embedding <=> $13 AS distance FROM %3$I AS vector WHERE %1$s AND %2$s '
            'ORDER BY embedding <=> $13 LIMIT $15'
        ELSE
            'SELECT chunk_id, distance FROM (SELECT chunk_id, embedding <=> $13 AS distance, %1$s AND %2$s AS is_match '
            'FROM %3$I AS vector ORDER BY embedding <=> $13 LIMIT $16) AS indexed WHERE is_match LIMIT $15'
        END || ') SELECT chunk_id, distance FROM nearest ORDER BY distance + 0, chunk_id LIMIT $14',
        rag_vector_condition(), rag_row_condition(scope), 'rag_embedding' || dimensions
    ) USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources, filters.documents,
        filters.tags, filters.source_types, filters.content_types, filters.langs, filters.date_from, filters.date_to,
        question, maximum, fetched, max_read;
END $$;

-- The rows of a table of vectors that are a sample of it, after FROM: two of each of some pages at even distances,
-- read by their addresses.
CREATE FUNCTION rag_sampled_rows(dimensions integer, size integer) RETURNS text
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT format(
        '%I AS vector WHERE ctid = ANY(ARRAY(SELECT format(''(%%s,%%s)'', place / 2 * 2 * %s::bigint / %s, '
        '1 + place * 3 %% %s)::tid FROM generate_series(0, %s - 1) AS place))',
        relname, relpages, size, greatest(1, ceil(reltuples / greatest(1, relpages))), size
    ) FROM pg_class WHERE oid = ('public.rag_embedding' || dimensions)::regclass
$$;

-- Chunks near a question that the index does not lead to. The vectors of a sample that are nearest to the question are
-- seeds, near which there may be more. The index is searched again for each, between the question and the seed, nearer
-- to the seed: from the question alone it does not find the way there. A seed that a search has come to is left out.
--   known: the chunks that the first search has come to.
--   share: which part of all vectors is searched. The smaller it is, the more seeds are needed: at most twice as many.
CREATE FUNCTION rag_nearest_by_sample(
    dimensions integer, question halfvec, scope rag_scope, filters rag_filters, known uuid[], share double precision
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    conditions CONSTANT text := format('%s AND %s', rag_vector_condition(), rag_row_condition(scope));
    factor CONSTANT double precision := least(2, 1 / greatest(share, 0.1));
    seeds halfvec[];
    seed_ids uuid[];
    near uuid[];
    distances double precision[];
    searches integer := 0;
BEGIN
    EXECUTE format(
        'SELECT array_agg(chunk_id), array_agg(embedding) FROM (SELECT * FROM ('
        'SELECT * FROM %s ORDER BY (embedding <=> $13) + 0 LIMIT 8000) AS vector WHERE %s LIMIT $14) AS nearest',
        rag_sampled_rows(dimensions, (32000 * factor)::integer), conditions
    ) INTO seed_ids, seeds USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources,
        filters.documents, filters.tags, filters.source_types, filters.content_types, filters.langs, filters.date_from,
        filters.date_to, question, (64 * factor)::integer;
    RETURN QUERY SELECT seed.id, seed.embedding <=> question FROM unnest(seed_ids, seeds) AS seed (id, embedding);
    PERFORM set_config('hnsw.iterative_scan', 'off', true), set_config('hnsw.ef_search', '300', true);
    FOR number IN 1 .. coalesce(cardinality(seeds), 0) LOOP
        CONTINUE WHEN seed_ids[number] = ANY(known);
        EXECUTE format(
            'SELECT array_agg(chunk_id), array_agg(distance) FROM ('
            'SELECT chunk_id, embedding <=> $13 AS distance, %s AS is_match FROM %I AS vector '
            'ORDER BY embedding <=> $14 LIMIT 300) AS nearest WHERE is_match',
            conditions, 'rag_embedding' || dimensions
        ) INTO near, distances USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources,
            filters.documents, filters.tags, filters.source_types, filters.content_types, filters.langs,
            filters.date_from, filters.date_to, question, question + seeds[number] + seeds[number];
        known := known || near;
        RETURN QUERY SELECT * FROM unnest(near, distances);
        searches := searches + 1;
        EXIT WHEN searches >= 24 * factor;
    END LOOP;
END $$;

-- The nearest chunks of a scope with more chunks than are compared one by one. If there are many vectors, the index
-- gets a budget, and what it does not lead to within it is looked for in other ways.
--   chunk_count: the number of chunks in the scope; NULL if it is not known.
--   exact_limit: up to this number, chunks are compared one by one.
--   max_documents: how many documents that meet the filters are looked up one by one.
CREATE FUNCTION rag_nearest_in_large(
    dimensions integer, question halfvec, maximum integer, scope rag_scope, filters rag_filters, chunk_count bigint,
    exact_limit integer, max_documents integer
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    -- NULL without an index: then each search by it compares all vectors.
    vector_count CONSTANT bigint := (
        SELECT stored.reltuples FROM pg_class AS stored JOIN pg_index AS entry ON entry.indrelid = stored.oid
        JOIN pg_class AS built ON built.oid = entry.indexrelid AND entry.indisvalid
        JOIN pg_am ON pg_am.oid = built.relam AND pg_am.amname = 'hnsw'
        WHERE stored.oid = ('public.rag_embedding' || dimensions)::regclass LIMIT 1
    );
    -- The smaller the part of a scope is, the more of the rows that the index returns belong to others. Comparing each
    -- chunk of the scope costs less up to a number that grows with the root of the number of all vectors.
    affordable CONSTANT integer := sqrt(exact_limit::float * greatest(0, vector_count));
    is_filtered CONSTANT boolean := num_nonnulls(
        filters.tags, filters.source_types, filters.content_types, filters.langs, filters.date_from, filters.date_to
    ) > 0;
    fetched CONSTANT integer := greatest(100, 2 * maximum);
    nearest uuid[];
    distances double precision[];
    mean double precision;
    share double precision;
BEGIN
    IF (vector_count > 10::bigint * exact_limit) IS NOT TRUE THEN
        RETURN QUERY SELECT * FROM rag_nearest_by_index(dimensions, question, maximum, scope, filters, fetched, NULL);
        RETURN;
    END IF;
    IF chunk_count <= affordable / 3 AND NOT is_filtered THEN
        RETURN QUERY SELECT * FROM rag_nearest(dimensions, question, maximum, scope, filters, true);
        RETURN;
    END IF;
    SELECT array_agg(hit.chunk_id), array_agg(hit.distance) INTO nearest, distances
        FROM rag_nearest_by_index(dimensions, question, maximum, scope, filters, fetched, 2000) AS hit;
    -- Near is what is much nearer than most vectors are, whatever the model's distances are.
    IF cardinality(nearest) = maximum THEN
        EXECUTE 'SELECT avg(embedding <=> $1) FROM ' || rag_sampled_rows(dimensions, 64) || ' AND model_id = $2'
            INTO mean USING question, scope.model;
        IF distances[1] <= 0.55 * mean THEN
            RETURN QUERY SELECT * FROM unnest(nearest, distances);
            RETURN;
        END IF;
    END IF;
    EXECUTE format(
        -- A row of another source is neither true nor false.
        'SELECT avg(coalesce(%s AND %s, false)::integer) FROM %s',
        rag_vector_condition(), rag_row_condition(scope), rag_sampled_rows(dimensions, 2000)
    ) INTO share USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources, filters.documents,
        filters.tags, filters.source_types, filters.content_types, filters.langs, filters.date_from, filters.date_to;
    IF share * vector_count <= affordable THEN
        IF is_filtered AND filters.documents IS NULL THEN
            SELECT documents INTO filters.documents
                FROM rag_matching_documents(scope, filters, max_documents, affordable);
        END IF;
        IF NOT is_filtered OR filters.documents IS NOT NULL THEN
            RETURN QUERY SELECT * FROM rag_nearest(dimensions, question, maximum, scope, filters, NOT is_filtered);
            RETURN;
        END IF;
    END IF;
    SELECT array_agg(hit.chunk_id), array_agg(hit.distance) INTO nearest, distances
        FROM rag_nearest_by_index(dimensions, question, NULL, scope, filters, NULL, 2000) AS hit;
    SELECT array_agg(hit.chunk_id), array_agg(hit.distance) INTO nearest, distances FROM (
        SELECT near.chunk_id, min(near.distance) AS distance FROM (
            SELECT * FROM unnest(nearest, distances) AS known (chunk_id, distance)
            UNION ALL SELECT * FROM rag_nearest_by_sample(dimensions, question, scope, filters, nearest, share)
        ) AS near GROUP BY near.chunk_id ORDER BY 2, 1 LIMIT maximum
    ) AS hit;
    IF cardinality(nearest) = maximum THEN
        RETURN QUERY SELECT * FROM unnest(nearest, distances);
    ELSE
        RETURN QUERY SELECT near.chunk_id, min(near.distance) FROM (
            SELECT * FROM unnest(nearest, distances) AS known (chunk_id, distance)
            UNION ALL
            SELECT * FROM rag_nearest_by_index(dimensions, question, maximum, scope, filters, fetched, NULL)
        ) AS near GROUP BY near.chunk_id ORDER BY 2, 1 LIMIT maximum;
    END IF;
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
