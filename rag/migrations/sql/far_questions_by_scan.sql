-- With up to 200,000 vectors, the nearest chunks of questions that hardly any chunk is about are found by comparing all of
-- them before any condition is checked, in a fifth of the time (docs/decisions/0081-far-questions.md).

-- Those of the nearest vectors of a whole table that are in the scope. Conditions are checked for few rows only: for each
-- row they take several times as long as its distance.
--   compared: how many of the nearest vectors are checked. The result is exact if it has as many rows as `maximum`.
CREATE FUNCTION rag_nearest_by_scan(
    dimensions integer, question halfvec, maximum integer, scope rag_scope, filters rag_filters, compared integer
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT chunk_id, distance FROM ('
        'SELECT *, (embedding <=> $13) + 0 AS distance FROM %I ORDER BY (embedding <=> $13) + 0 LIMIT $15'
        ') AS vector WHERE %s AND %s ORDER BY distance, chunk_id LIMIT $14',
        'rag_embedding' || dimensions, rag_vector_condition(), rag_row_condition(scope)
    ) USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources, filters.documents,
        filters.tags, filters.source_types, filters.content_types, filters.langs, filters.date_from, filters.date_to,
        question, maximum, compared;
END $$;

-- The nearest chunks of a scope with more chunks than are compared one by one. The index gets a budget, and
-- what it does not lead to within it is looked for in other ways.
--   chunk_count: the number of chunks in the scope; NULL if it is not known.
--   exact_limit: up to this number, chunks are compared one by one.
--   max_documents: how many documents that meet the filters are looked up one by one.
CREATE OR REPLACE FUNCTION rag_nearest_in_large(
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
    -- Up to so many vectors in all, the nearest of the whole table cost less than a sample and what is near to it.
    max_scanned CONSTANT bigint := 10::bigint * exact_limit;
    is_filtered CONSTANT boolean := num_nonnulls(
        filters.tags, filters.source_types, filters.content_types, filters.langs, filters.date_from, filters.date_to
    ) > 0;
    fetched CONSTANT integer := greatest(100, 2 * maximum);
    nearest uuid[];
    distances double precision[];
    mean double precision;
    share double precision;
BEGIN
    IF (vector_count > exact_limit) IS NOT TRUE THEN
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
    IF vector_count <= max_scanned THEN
        SELECT array_agg(hit.chunk_id), array_agg(hit.distance) INTO nearest, distances FROM rag_nearest_by_scan(
            dimensions, question, maximum, scope, filters, ceil(4 * maximum / greatest(share, 0.02))::integer
        ) AS hit;
        IF cardinality(nearest) = maximum THEN
            RETURN QUERY SELECT * FROM unnest(nearest, distances);
            RETURN;
        END IF;
    END IF;
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
