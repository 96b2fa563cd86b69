-- One statement finds all candidates of a search with both scores, and one reads the statistics of its words. So the
-- identity is checked twice, however a search is made. The functions that search take a scope that is permitted already
-- and have the rights of their caller: called on their own, they are subject to the policies of the tables.
DROP FUNCTION rag_nearest, rag_nearest_by_index, rag_count_vectors, rag_search_terms, rag_tagged_documents,
    rag_count_configs, rag_count_terms;

-- Those of these sources that are granted to the caller, or owned by them as personal sources. Each source is looked up
-- by its keys: for few of many granted sources.
CREATE FUNCTION rag_granted_among(sources uuid[]) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    caller CONSTANT record := rag_caller('query');
    caller_roles uuid[];
    caller_teams uuid[];
BEGIN
    IF caller.user_id IS NULL OR NOT caller.may_query THEN
        RETURN '{}';
    END IF;
    caller_roles := ARRAY(
        SELECT role.id FROM orgs_membership AS membership
        JOIN orgs_membership_roles AS membership_role ON membership_role.membership_id = membership.id
        JOIN orgs_role AS role ON role.id = membership_role.role_id
            AND role.organization_id = membership.organization_id
        WHERE membership.user_id = caller.user_id AND membership.organization_id = ANY(caller.organizations)
    );
    caller_teams := ARRAY(
        WITH RECURSIVE joined_teams AS (
            SELECT team.id, team.organization_id, team.parent_id FROM orgs_membership AS membership
            JOIN orgs_membership_teams AS membership_team ON membership_team.membership_id = membership.id
            JOIN orgs_team AS team ON team.id = membership_team.team_id
                AND team.organization_id = membership.organization_id
            WHERE membership.user_id = caller.user_id AND membership.organization_id = ANY(caller.organizations)
            UNION
            SELECT parent_team.id, parent_team.organization_id, parent_team.parent_id FROM joined_teams
            JOIN orgs_team AS parent_team ON parent_team.id = joined_teams.parent_id
                AND parent_team.organization_id = joined_teams.organization_id
        ) SELECT id FROM joined_teams
    );
    RETURN ARRAY(
        SELECT source.id FROM rag_datasource AS source
        WHERE source.id = ANY(sources) AND source.deleted_at IS NULL
        AND source.organization_id = ANY(caller.organizations)
        AND (caller.key_sources IS NULL OR source.id = ANY(caller.key_sources))
        AND ((source.visibility = 'personal' AND source.owner_id = caller.user_id)
            OR (SELECT bool_or(
                (source.visibility = 'private' AND user_id = caller.user_id)
                OR (source.visibility = 'role' AND role_id = ANY(caller_roles)
                    AND (SELECT organization_id FROM orgs_role WHERE id = role_id) = source.organization_id)
                OR (source.visibility = 'team' AND team_id = ANY(caller_teams)
                    AND (SELECT organization_id FROM orgs_team WHERE id = team_id) = source.organization_id)
            ) FROM rag_grant
            WHERE source_id = source.id AND (expires_at IS NULL OR expires_at > statement_timestamp())))
    );
END $$;

-- Those of the sources that the transaction's identity may use for its action. Workers may use all, and pages of the
-- admin those of their user's organisations. Few sources are looked up by their keys; many are compared with a list.
-- Lists are intersected by hashing: with a kept plan, `= ANY(list)` compares each source with the whole list.
CREATE OR REPLACE FUNCTION rag_permitted_sources(sources uuid[]) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    caller record;
    permitted uuid[] := '{}';
    others uuid[] := sources;
    is_query boolean;
    whole uuid[];
BEGIN
    IF NOT ragsite_is_request() THEN
        RETURN CASE WHEN ragsite_is_limited_staff() THEN rag_staff_sources(sources) ELSE sources END;
    END IF;
    SELECT * INTO caller FROM rag_caller(NULL);
    IF caller.user_id IS NULL OR cardinality(sources) = 0 THEN
        RETURN '{}';
    END IF;
    is_query := (SELECT identity.action = 'query' FROM ragsite_identity() AS identity);
    IF cardinality(sources) > 200 OR NOT is_query THEN
        permitted := ARRAY(SELECT unnest(sources) INTERSECT SELECT rag_listed_sources());
        others := ARRAY(SELECT unnest(sources) EXCEPT SELECT unnest(permitted));
        is_query := false;
    END IF;
    IF cardinality(others) > 0 AND caller.may_query THEN
        permitted := permitted || ARRAY(
            SELECT id FROM rag_datasource WHERE id = ANY(others) AND deleted_at IS NULL AND visibility = 'public'
            AND organization_id = ANY(caller.organizations)
            AND (caller.key_sources IS NULL OR id = ANY(caller.key_sources))
        );
    END IF;
    IF cardinality(permitted) < cardinality(sources) THEN
        IF is_query THEN
            RETURN permitted || rag_granted_among(others);
        END IF;
        whole := rag_whole_organizations();
        IF cardinality(whole) > 0 THEN
            RETURN ARRAY(
                SELECT unnest(permitted)
                UNION SELECT id FROM rag_datasource WHERE id = ANY(others) AND deleted_at IS NULL
                AND organization_id = ANY(whole)
            );
        END IF;
    END IF;
    RETURN permitted;
END $$;

-- Which term statistics of listed sources are summed. If a scope has most sources of an organisation and a visibility,
-- it is the total of the organisation without the few others.
--   organizations and visibilities: the totals that are added, in pairs.
--   subtracted: sources whose statistics are subtracted from these totals.
--   added: sources whose statistics are added.
CREATE TYPE rag_statistics AS (organizations uuid[], visibilities text[], subtracted uuid[], added uuid[]);

CREATE FUNCTION rag_statistics_of(scope rag_scope) RETURNS rag_statistics
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    counted rag_statistics := ROW(
        scope.organizations, array_fill('public'::text, ARRAY[cardinality(scope.organizations)]), '{}',
        rag_other_sources(scope)
    );
    readable record;
    unreadable uuid[];
BEGIN
    IF cardinality(counted.added) < 100 THEN
        RETURN counted;
    END IF;
    FOR readable IN
        SELECT organization_id, visibility, array_agg(id) AS ids FROM unnest(counted.added) AS id
        JOIN rag_datasource USING (id) WHERE deleted_at IS NULL GROUP BY organization_id, visibility
    LOOP
        unreadable := ARRAY(
            SELECT id FROM rag_datasource WHERE organization_id = readable.organization_id
            AND visibility = readable.visibility AND deleted_at IS NULL
            EXCEPT SELECT unnest(readable.ids)
        );
        IF cardinality(unreadable) < cardinality(readable.ids) THEN
            counted.organizations := counted.organizations || readable.organization_id;
            counted.visibilities := counted.visibilities || readable.visibility::text;
            counted.subtracted := counted.subtracted || unreadable;
            counted.added := ARRAY(SELECT unnest(counted.added) EXCEPT SELECT unnest(readable.ids));
        END IF;
    END LOOP;
    RETURN counted;
END $$;

-- How many chunks of the organisations' public sources and of the sources each text search configuration has stemmed
-- (rows without a term), and how many of them contain each of the terms.
CREATE FUNCTION rag_count_terms(organizations uuid[], sources uuid[], wanted_terms integer[])
RETURNS TABLE (config text, term integer, chunks bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    scope CONSTANT rag_scope := rag_permitted_scope(ROW(NULL, organizations, NULL, NULL, sources)::rag_scope);
    counted CONSTANT rag_statistics := rag_statistics_of(scope);
BEGIN
    RETURN QUERY
    SELECT counts.config::text, NULL::integer, sum(counts.chunks)::bigint FROM (
        SELECT config, chunks FROM unnest(counted.organizations, counted.visibilities) AS wanted (id, visibility)
            JOIN rag_organizationconfig AS total ON organization_id = wanted.id AND total.visibility = wanted.visibility
        UNION ALL SELECT config, chunks FROM rag_sourceconfig WHERE source_id = ANY(counted.added)
        UNION ALL SELECT config, -chunks FROM rag_sourceconfig WHERE source_id = ANY(counted.subtracted)
    ) AS counts GROUP BY counts.config HAVING sum(counts.chunks) > 0
    UNION ALL
    SELECT NULL, counts.term, sum(counts.chunks)::bigint FROM (
        SELECT term, chunks FROM unnest(counted.organizations, counted.visibilities) AS wanted (id, visibility)
            JOIN rag_organizationterm AS total ON organization_id = wanted.id AND total.visibility = wanted.visibility
            WHERE term = ANY(wanted_terms)
        UNION ALL SELECT term, chunks FROM rag_sourceterm
            WHERE source_id = ANY(counted.added) AND term = ANY(wanted_terms)
        UNION ALL SELECT term, -chunks FROM rag_sourceterm
            WHERE source_id = ANY(counted.subtracted) AND term = ANY(wanted_terms)
    ) AS counts GROUP BY counts.term;
END $$;

-- What a search compares, beside its scope. NULL for a filter that does not restrict.
--   documents: the ids of documents, if they are known.
CREATE TYPE rag_filters AS (
    documents uuid[], tags text[], source_types text[], content_types text[], langs text[], date_from timestamptz,
    date_to timestamptz
);

-- The nearest chunks, each of them compared. With `+ 0` PostgreSQL cannot use the index, which would miss some.
--   by_source: the chunks of each source are read by an index. If the sources are many, PostgreSQL would read those of
--   all organisations.
CREATE FUNCTION rag_nearest(
    dimensions integer, question halfvec, maximum integer, scope rag_scope, filters rag_filters, by_source boolean
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        CASE WHEN by_source THEN
            'SELECT chunk_id, (embedding <=> $13) + 0 AS distance FROM rag_datasource AS source '
            'CROSS JOIN LATERAL (SELECT * FROM %I WHERE source_id = source.id OFFSET 0) AS vector '
        ELSE
            'SELECT chunk_id, (embedding <=> $13) + 0 AS distance FROM %I AS vector '
            'JOIN rag_datasource AS source ON source.id = source_id '
        END || 'WHERE %s AND %s ORDER BY distance, chunk_id LIMIT $14',
        'rag_embedding' || dimensions, rag_source_condition(scope), rag_vector_condition()
    ) USING scope.model, scope.organizations, scope.model_use, scope.second_of, scope.sources, filters.documents,
        filters.tags, filters.source_types, filters.content_types, filters.langs, filters.date_from, filters.date_to,
        question, maximum;
END $$;

-- The nearest chunks by the HNSW index, which may miss some and returns fewer in a narrow scope. Other plans are off:
-- PostgreSQL would choose the exact search. The source of each row that the index returns is read by its key: the index
-- returns hundreds of rows. The index returns its results only roughly in order: fetch more, sort, cut.
CREATE FUNCTION rag_nearest_by_index(
    dimensions integer, question halfvec, maximum integer, scope rag_scope, filters rag_filters
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp
SET enable_sort = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
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
    PERFORM set_config('hnsw.iterative_scan', 'relaxed_order', true), set_config('hnsw.ef_search', '800', true);
    RETURN QUERY EXECUTE format(
        'WITH nearest AS MATERIALIZED (SELECT chunk_id, embedding <=> $13 AS distance FROM %I AS vector '
        'WHERE %s AND %s ORDER BY embedding <=> $13 LIMIT greatest(100, 2 * $14)) '
        'SELECT chunk_id, distance FROM nearest ORDER BY distance + 0, chunk_id LIMIT $14',
        'rag_embedding' || dimensions, rag_vector_condition(), in_scope
    ) USING scope.model, scope.organizations, scope.model_use, scope.second_of, listed, filters.documents,
        filters.tags, filters.source_types, filters.content_types, filters.langs, filters.date_from, filters.date_to,
        question, maximum;
END $$;

-- The number of vectors that meet the condition, but not more than the maximum.
CREATE FUNCTION rag_count_vectors(dimensions integer, maximum integer, scope rag_scope, filters rag_filters)
RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
DECLARE
    counted bigint;
BEGIN
    EXECUTE format(
        'SELECT count(*) FROM (SELECT FROM %I AS vector JOIN rag_datasource AS source ON source.id = source_id '
        'WHERE %s AND %s LIMIT $13) AS rows',
        'rag_embedding' || dimensions, rag_source_condition(scope), rag_vector_condition()
    ) INTO counted USING scope.model, scope.organizations, scope.model_use, scope.second_of, scope.sources,
        filters.documents, filters.tags, filters.source_types, filters.content_types, filters.langs, filters.date_from,
        filters.date_to, maximum;
    RETURN counted;
END $$;

-- The number of sources in the scope, but not more than the maximum.
CREATE FUNCTION rag_count_sources(scope rag_scope, maximum integer) RETURNS bigint
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
DECLARE
    counted bigint := cardinality(scope.sources);
BEGIN
    IF cardinality(scope.organizations) > 0 AND maximum > counted THEN
        EXECUTE format(
            'SELECT count(*) FROM (SELECT FROM rag_datasource AS source WHERE %s LIMIT $6) AS rows',
            rag_source_condition(scope)
        ) INTO counted USING scope.model, scope.organizations, scope.model_use, scope.second_of, scope.sources, maximum;
    END IF;
    RETURN counted;
END $$;

-- The chunks with the smallest (negative) inner product. required_terms: only chunks with one of them; NULL for all
-- chunks.
CREATE FUNCTION rag_search_terms(
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
    -- With `+ 0` PostgreSQL cannot use an index on the vectors for the order. If each chunk is compared, those of each
    -- source are read by an index.
    RETURN QUERY EXECUTE format(
        'SELECT chunk_id, (terms.weights <#> $6) + 0 AS distance FROM ' ||
        CASE WHEN required_terms IS NULL AND NOT is_filtered THEN
            'rag_datasource AS source '
            'CROSS JOIN LATERAL (SELECT * FROM rag_chunkterms WHERE source_id = source.id OFFSET 0) AS terms '
        ELSE
            'rag_chunkterms AS terms JOIN rag_datasource AS source ON source.id = terms.source_id '
        END ||
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
        maximum, filters.documents, filters.tags, filters.source_types, filters.content_types, filters.langs,
        filters.date_from, filters.date_to;
END $$;

-- The ids of the scope's documents with one of the tags, which an index finds; NULL if they are more than the maximum.
CREATE FUNCTION rag_tagged_documents(scope rag_scope, wanted_tags text[], maximum integer) RETURNS uuid[]
LANGUAGE plpgsql STABLE SET search_path = public, pg_temp AS $$
DECLARE
    found uuid[];
BEGIN
    EXECUTE format(
        'SELECT ARRAY(SELECT document.id FROM rag_document AS document '
        'JOIN rag_datasource AS source ON source.id = document.source_id WHERE %s AND tags && $6 LIMIT $7)',
        rag_source_condition(scope)
    ) INTO found USING scope.model, scope.organizations, scope.model_use, scope.second_of, scope.sources,
        wanted_tags, maximum + 1;
    RETURN CASE WHEN cardinality(found) <= maximum THEN found END;
END $$;

-- The candidates of a search in one scope: the nearest chunks, then the others with the best words.
--   dimensions, vector: the question's vector; NULL if its model does not answer.
--   vector_maximum: how many chunks are found by vector; 0 for none.
--   words: the weights of the question's terms; NULL if no chunk has one of them.
--   all_terms, rare_terms: the terms, and those by which chunks are found that are not compared one by one.
--   word_maximum: how many chunks are found by words; 0 for none.
--   chunk_count: the number of chunks in all scopes of the question.
--   scope_chunk_count: the number of chunks in this scope; NULL if it is not known.
--   exact_limit: up to this cost, chunks are compared one by one. Reading a chunk costs 1, finding a source's chunks 4.
--   max_tagged: how many documents with a tag are looked up one by one.
-- Returns the places in both results, the distances, and which of the terms the chunk contains.
CREATE FUNCTION rag_find_candidates(
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
    source_cost CONSTANT bigint := 4 * rag_count_sources(scope, exact_limit / 4 + 1);
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

-- Whether a search uses the indexes of vectors and terms instead of comparing each chunk. Comparing the chunks of many
-- sources reads more places; but the indexes do not help if they contain mostly other chunks.
CREATE FUNCTION rag_is_large(chunk_count bigint, source_cost bigint, exact_limit integer) RETURNS boolean
LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
    SELECT chunk_count > exact_limit OR (
        chunk_count + source_cost > exact_limit AND 4 * source_cost > exact_limit
        AND 8 * chunk_count > (SELECT reltuples FROM pg_class WHERE oid = 'public.rag_chunkterms'::regclass)
    )
$$;

-- The chunks with these ids that the transaction's identity may read, with their documents. A chunk's source is checked
-- once for all of its chunks; a policy would make a list of all sources of the caller.
CREATE FUNCTION rag_read_passages(chunk_ids uuid[]) RETURNS TABLE (
    chunk_id uuid, document_id uuid, source_id uuid, source_slug varchar, organization_id uuid, text text,
    "position" integer, start integer, "end" integer, headings text[], first_page integer, last_page integer,
    title text, path text, uri text, content_type varchar, source_type varchar, lang varchar, tags text[],
    metadata jsonb, date timestamptz
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    permitted uuid[];
BEGIN
    permitted := rag_permitted_sources(ARRAY(SELECT DISTINCT source_id FROM rag_chunk WHERE id = ANY(chunk_ids)));
    RETURN QUERY
    SELECT chunk.id, document.id, source.id, source.slug, source.organization_id, chunk.text, chunk.position,
        chunk.start, chunk."end", chunk.headings, chunk.first_page, chunk.last_page, document.title, document.path,
        document.uri, document.content_type, document.source_type, document.lang, document.tags, document.metadata,
        document.date
    FROM rag_chunk AS chunk
    JOIN rag_document AS document ON document.id = chunk.document_id AND document.deleted_at IS NULL
    JOIN rag_datasource AS source ON source.id = chunk.source_id
    WHERE chunk.id = ANY(chunk_ids) AND chunk.source_id = ANY(permitted);
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
        ('rag_find_candidates', 'rag_read_passages')
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO ragsite_worker', name);
    END LOOP;
END $$;
REVOKE CREATE ON SCHEMA public FROM ragsite_worker;
