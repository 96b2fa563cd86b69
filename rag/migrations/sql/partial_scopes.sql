-- Searches in a part of many chunks read only rows of this part, where they also read those of all other sources.

-- Whether so many chunks outside of the scope have one of these terms that reading them takes longer than reading the
-- index entries of all of the scope's chunks: a row takes as long as about 50 entries. The others are assumed to have
-- the terms as often.
CREATE FUNCTION rag_are_common_elsewhere(scope rag_scope, wanted_terms integer[]) RETURNS boolean
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    others CONSTANT uuid[] := rag_other_sources(scope);
    counted CONSTANT double precision := (
        SELECT sum(chunks) FROM (
            SELECT chunks FROM rag_organizationconfig WHERE access_list_id = ANY(scope.lists)
            UNION ALL SELECT chunks FROM rag_sourceconfig WHERE source_id = ANY(others)
        ) AS counts
    );
    matching CONSTANT double precision := (
        SELECT sum(chunks) FROM (
            SELECT chunks FROM rag_organizationterm WHERE access_list_id = ANY(scope.lists) AND term = ANY(wanted_terms)
            UNION ALL SELECT chunks FROM rag_sourceterm WHERE source_id = ANY(others) AND term = ANY(wanted_terms)
        ) AS counts
    );
    -- Not known before the table's first analysis.
    existing CONSTANT double precision := (
        SELECT reltuples FROM pg_class WHERE oid = 'public.rag_chunkterms'::regclass
    );
BEGIN
    RETURN coalesce(50 * matching * (existing - counted) > counted * counted, false);
END $$;

-- The chunks with the smallest (negative) inner product. required_terms: only chunks with one of them; NULL for all
-- chunks.
CREATE OR REPLACE FUNCTION rag_search_terms(
    query sparsevec, scope rag_scope, required_terms integer[], maximum integer, is_filtered boolean,
    filters rag_filters
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
DECLARE
    by_source_list boolean := NOT is_filtered;
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
        'WHERE %s AND ($7 IS NULL OR terms.terms && $7) AND %s ORDER BY distance, chunk_id LIMIT $8',
        CASE WHEN by_source_list THEN rag_in_source_list(scope) ELSE rag_source_condition(scope) END,
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

-- PostgreSQL would read the documents by their sources until enough of them match: all of the first sources if only
-- later ones have a tag.
ALTER FUNCTION rag_matching_documents(rag_scope, rag_filters, integer, integer) SET enable_mergejoin = off;

-- The nearest chunks, each of them compared. With `+ 0` PostgreSQL cannot use the index of vectors, which would miss
-- some.
--   filters: their documents, if there are any, are documents of the scope that meet the filters.
--   by_source: the chunks are found by their sources. If these are many, PostgreSQL would read those of all
--   organisations.
CREATE OR REPLACE FUNCTION rag_nearest(
    dimensions integer, question halfvec, maximum integer, scope rag_scope, filters rag_filters, by_source boolean
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
BEGIN
    IF filters.documents IS NOT NULL THEN
        -- As the result of a subquery, because PostgreSQL would plan with a list of thousands of ids.
        RETURN QUERY EXECUTE format(
            'SELECT chunk_id, (embedding <=> $3) + 0 AS distance FROM %I AS vector '
            'WHERE model_id = $1 AND document_id = ANY((SELECT $2)::uuid[]) ORDER BY distance, chunk_id LIMIT $4',
            'rag_embedding' || dimensions
        ) USING scope.model, filters.documents, question, maximum;
        RETURN;
    END IF;
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
    IF chunk_count IS NOT NULL AND NOT is_filtered THEN
        share := least(1, chunk_count / vector_count::float);
    ELSE
        EXECUTE format(
            -- A row of another source is neither true nor false.
            'SELECT avg(coalesce(%s AND %s, false)::integer) FROM %s',
            rag_vector_condition(), rag_row_condition(scope), rag_sampled_rows(dimensions, 2000)
        ) INTO share USING scope.model, scope.lists, scope.model_use, scope.second_of, scope.sources,
            filters.documents, filters.tags, filters.source_types, filters.content_types, filters.langs,
            filters.date_from, filters.date_to;
    END IF;
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
