-- Exact searches whose time hardly depends on the number of data sources: rows of all sources of a scope are found
-- with one scan of an index instead of one for each source (docs/decisions/0067-sources-in-one-scan.md).
-- The condition of a row whose source, `source_id`, is within a permitted scope, whose fields are $1 to $5: the ids are
-- listed once, and an index on the sources finds the rows of all of them with one scan. As the result of a subquery,
-- because PostgreSQL would plan with a list of thousands of ids.
CREATE FUNCTION rag_in_source_list(scope rag_scope) RETURNS text
LANGUAGE sql IMMUTABLE SET search_path = public, pg_temp AS $$
    SELECT CASE WHEN cardinality(scope.organizations) = 0 THEN 'source_id = ANY((SELECT $5)::uuid[])'
        ELSE format(
            'source_id = ANY(ARRAY(SELECT source.id FROM rag_datasource AS source WHERE %s))',
            rag_source_condition(scope)
        ) END
$$;

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
    ) USING scope.model, scope.organizations, scope.model_use, scope.second_of, scope.sources, filters.documents,
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
    ) USING scope.model, scope.organizations, scope.model_use, scope.second_of, scope.sources, query, required_terms,
        maximum, filters.documents, filters.tags, filters.source_types, filters.content_types, filters.langs,
        filters.date_from, filters.date_to;
END $$;

-- Which term statistics of listed sources are summed (rag_statistics). If a scope has most sources of an organisation
-- and a visibility, it is the total of the organisation without the few others. Sources are counted first: usually
-- either all or few of them are in the scope, and lists of thousands of ids take milliseconds to compare.
CREATE OR REPLACE FUNCTION rag_statistics_of(scope rag_scope) RETURNS rag_statistics
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    counted rag_statistics := ROW(
        scope.organizations, array_fill('public'::text, ARRAY[cardinality(scope.organizations)]), '{}',
        rag_other_sources(scope)
    );
    first_total CONSTANT integer := coalesce(cardinality(scope.organizations), 0);
    readable record;
    existing bigint;
    covered bigint := 0;
BEGIN
    IF cardinality(counted.added) < 100 THEN
        RETURN counted;
    END IF;
    FOR readable IN
        SELECT organization_id, visibility, count(*) AS sources FROM rag_datasource
        WHERE id = ANY(counted.added) AND deleted_at IS NULL GROUP BY organization_id, visibility
    LOOP
        existing := (
            SELECT count(*) FROM rag_datasource WHERE organization_id = readable.organization_id
            AND visibility = readable.visibility AND deleted_at IS NULL
        );
        IF existing < 2 * readable.sources THEN
            counted.organizations := counted.organizations || readable.organization_id;
            counted.visibilities := counted.visibilities || readable.visibility::text;
            covered := covered + readable.sources;
            IF existing > readable.sources THEN
                counted.subtracted := counted.subtracted || ARRAY(
                    SELECT id FROM rag_datasource WHERE organization_id = readable.organization_id
                    AND visibility = readable.visibility AND deleted_at IS NULL
                    EXCEPT SELECT unnest(counted.added)
                );
            END IF;
        END IF;
    END LOOP;
    IF covered = cardinality(counted.added) THEN
        counted.added := '{}';
    ELSIF covered > 0 THEN
        counted.added := ARRAY(
            SELECT id FROM rag_datasource WHERE id = ANY(counted.added) AND (
                deleted_at IS NOT NULL OR (organization_id, visibility::text) NOT IN (
                    SELECT total.id, total.visibility
                    FROM unnest(counted.organizations, counted.visibilities) WITH ORDINALITY
                        AS total (id, visibility, place)
                    WHERE place > first_total
                )
            )
        );
    END IF;
    RETURN counted;
END $$;

-- Whether a search uses the indexes of vectors and terms instead of comparing each chunk. Finding the chunks of a
-- source costs as much as comparing one chunk, which matters if sources are many. But the indexes do not help if they
-- contain mostly other chunks.
CREATE OR REPLACE FUNCTION rag_is_large(chunk_count bigint, source_cost bigint, exact_limit integer) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT chunk_count > exact_limit OR (
        chunk_count + source_cost > exact_limit AND 2 * source_cost > exact_limit
        AND 8 * chunk_count > (SELECT reltuples FROM pg_class WHERE oid = 'public.rag_chunkterms'::regclass)
    )
$$;

GRANT CREATE ON SCHEMA public TO ragsite_worker;
SET LOCAL ROLE ragsite_worker;

-- The scope without what the transaction's identity may not use for its action, and with the sources that its grants
-- open. Workers may use all, and pages of the admin what belongs to their user's organisations. Sources that have been
-- switched to another model since the scope was built are added: their old vectors still exist.
CREATE OR REPLACE FUNCTION rag_permitted_scope(wanted rag_scope) RETURNS rag_scope
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    granted CONSTANT rag_grants := rag_permitted_grants(wanted.granted);
    switched uuid[] := '{}';
    opened uuid[];
BEGIN
    IF ragsite_is_request() OR ragsite_is_limited_staff() THEN
        wanted.organizations := rag_permitted_public(wanted.organizations);
        IF cardinality(wanted.sources) > 0 THEN
            wanted.sources := rag_permitted_sources(wanted.sources);
        END IF;
    END IF;
    wanted.granted := NULL;
    IF wanted.model IS NOT NULL AND (cardinality(wanted.organizations) > 0 OR granted.user_id IS NOT NULL) THEN
        switched := ARRAY(
            SELECT source_id FROM rag_reembedding AS reembedding WHERE reembedding.from_model_id = wanted.model
            AND reembedding.state = 'switched'
            AND reembedding.switched_at > statement_timestamp() - interval '5 minutes'
        );
        IF cardinality(switched) > 0 THEN
            wanted.sources := wanted.sources || ARRAY(
                SELECT id FROM rag_datasource WHERE id = ANY(switched) AND visibility = 'public'
                AND deleted_at IS NULL AND organization_id = ANY(wanted.organizations)
            );
        END IF;
    END IF;
    IF granted.user_id IS NOT NULL THEN
        opened := ARRAY(
            SELECT source.id
            FROM rag_granted_rows(granted.user_id, granted.roles, granted.teams, granted.organizations) AS source
            WHERE wanted.model IS NULL OR source.id = ANY(switched)
            OR (wanted.model_use <> 'second' AND source.embedding_model_id = wanted.model AND (
                wanted.model_use <> 'own_without_second' OR source.second_model_ready_at IS NULL
                OR source.second_model_ready_at > statement_timestamp() - interval '5 minutes'))
            OR (wanted.model_use IN ('second', 'own_or_second') AND source.second_model_id = wanted.model
                AND source.second_model_ready_at IS NOT NULL AND source.embedding_model_id = ANY(wanted.second_of))
        );
        -- Each source is opened by one kind of grant, as its visibility says.
        IF cardinality(granted.roles) > 1 OR cardinality(granted.teams) > 1 THEN
            opened := ARRAY(SELECT DISTINCT unnest(opened));
        END IF;
        wanted.sources := wanted.sources || opened;
    END IF;
    RETURN wanted;
END $$;

-- The candidates of a search in one scope: the nearest chunks, then the others with the best words.
-- rag/migrations/sql/candidates.sql describes the arguments.
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
BEGIN
    IF filters.tags IS NOT NULL THEN
        filters.documents := rag_tagged_documents(scope, filters.tags, max_tagged);
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
        -- A distance of 0 means that the chunk contains no word of the question. With a filter all words are looked up:
        -- the matching documents may not contain the rarest ones.
        SELECT array_agg(hit.chunk_id) INTO best FROM rag_search_terms(
            words, scope,
            CASE WHEN NOT rag_is_large(chunk_count, source_cost, exact_limit) THEN NULL
                WHEN is_filtered THEN all_terms ELSE rare_terms END,
            word_maximum, is_filtered, filters
        ) AS hit WHERE hit.distance < 0;
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
