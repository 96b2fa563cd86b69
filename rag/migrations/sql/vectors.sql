-- Searches by vector, limited to the sources that the caller may use, as terms.sql limits searches by terms. Comparing
-- each row with a policy would cost more than comparing its vector. EXECUTE plans with the values, so that a long list
-- of sources becomes a hash table.

-- The condition of a vector's row, with the arguments of the functions below as $1 to $9.
CREATE FUNCTION rag_vector_condition() RETURNS text LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT 'model_id = $1 AND source_id = ANY($2) AND ($3 IS NULL OR document_id = ANY($3)) '
        'AND ($4 IS NULL OR tags && $4) AND ($5 IS NULL OR source_type = ANY($5)) '
        'AND ($6 IS NULL OR content_type = ANY($6)) AND ($7 IS NULL OR lang = ANY($7)) '
        'AND ($8 IS NULL OR date >= $8) AND ($9 IS NULL OR date <= $9) '
        -- The vectors of a deleted document stay until it is purged. These ids are read once and hashed.
        'AND document_id NOT IN (SELECT id FROM public.rag_document WHERE deleted_at IS NOT NULL AND chunk_count > 0)'
$$;

-- The nearest chunks, each of them compared. With `+ 0` PostgreSQL cannot use the index, which would miss some.
CREATE FUNCTION rag_nearest(
    dimensions integer, query text, maximum integer, model uuid, sources uuid[], documents uuid[], wanted_tags text[],
    source_types text[], content_types text[], langs text[], date_from timestamptz, date_to timestamptz
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT chunk_id, (embedding <=> $10::halfvec) + 0 AS distance FROM %I WHERE %s '
        'ORDER BY distance, chunk_id LIMIT $11',
        'rag_embedding' || dimensions, rag_vector_condition()
    ) USING model, rag_permitted_sources(sources), documents, wanted_tags, source_types, content_types, langs,
        date_from, date_to, query, maximum;
END $$;

-- The nearest chunks by the HNSW index, which may miss some and returns fewer in a narrow scope. Other plans are off:
-- PostgreSQL would choose the exact search. The index returns its results only roughly in order: fetch more, sort, cut.
CREATE FUNCTION rag_nearest_by_index(
    dimensions integer, query text, maximum integer, model uuid, sources uuid[], documents uuid[], wanted_tags text[],
    source_types text[], content_types text[], langs text[], date_from timestamptz, date_to timestamptz
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp
SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    -- Not as settings of the function: only a superuser may store settings of an extension, and restore them.
    PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '300', true);
    RETURN QUERY EXECUTE format(
        'WITH nearest AS MATERIALIZED (SELECT chunk_id, embedding <=> $10::halfvec AS distance FROM %I WHERE %s '
        'ORDER BY embedding <=> $10::halfvec LIMIT greatest(100, 2 * $11)) '
        'SELECT chunk_id, distance FROM nearest ORDER BY distance + 0, chunk_id LIMIT $11',
        'rag_embedding' || dimensions, rag_vector_condition()
    ) USING model, rag_permitted_sources(sources), documents, wanted_tags, source_types, content_types, langs,
        date_from, date_to, query, maximum;
END $$;

-- The number of vectors that meet the condition, but not more than the maximum.
CREATE FUNCTION rag_count_vectors(
    dimensions integer, maximum integer, model uuid, sources uuid[], documents uuid[], wanted_tags text[],
    source_types text[], content_types text[], langs text[], date_from timestamptz, date_to timestamptz
) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    counted bigint;
BEGIN
    EXECUTE format(
        'SELECT count(*) FROM (SELECT FROM %I WHERE %s LIMIT $10) AS rows',
        'rag_embedding' || dimensions, rag_vector_condition()
    ) INTO counted USING model, rag_permitted_sources(sources), documents, wanted_tags, source_types, content_types,
        langs, date_from, date_to, maximum;
    RETURN counted;
END $$;

-- The owner of these tables is subject to their policies; workers are not. The new owner of a function must be able to
-- create one.
GRANT CREATE ON SCHEMA public TO ragsite_worker;
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
        AND proname IN ('rag_nearest', 'rag_nearest_by_index', 'rag_count_vectors')
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO ragsite_worker', name);
    END LOOP;
END $$;
REVOKE CREATE ON SCHEMA public FROM ragsite_worker;
