-- Searches by terms. Under row-level security PostgreSQL could not use the index of terms, whose operator is not
-- leakproof, so these functions read the tables for requests, and only in the sources that the caller may use.

-- Those of the sources that the transaction's identity may use for its action. Workers may use all.
CREATE FUNCTION rag_permitted_sources(sources uuid[]) RETURNS uuid[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    IF NOT ragsite_is_request() THEN
        RETURN sources;
    END IF;
    RETURN ARRAY(
        SELECT unnest(sources)
        INTERSECT SELECT unnest(rag_visible_sources((SELECT action FROM ragsite_identity())))
    );
END $$;

-- How many chunks of the sources each text search configuration has stemmed.
CREATE FUNCTION rag_count_configs(sources uuid[]) RETURNS TABLE (config text, chunks bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    permitted CONSTANT uuid[] := rag_permitted_sources(sources);
BEGIN
    RETURN QUERY SELECT config::text, sum(chunks) FROM rag_sourceconfig
        WHERE source_id = ANY(permitted) AND chunks > 0 GROUP BY config;
END $$;

-- How many chunks of the sources contain each of the terms.
CREATE FUNCTION rag_count_terms(sources uuid[], wanted_terms integer[]) RETURNS TABLE (term integer, chunks bigint)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    permitted CONSTANT uuid[] := rag_permitted_sources(sources);
BEGIN
    RETURN QUERY SELECT term, sum(chunks) FROM rag_sourceterm
        WHERE source_id = ANY(permitted) AND term = ANY(wanted_terms) GROUP BY term;
END $$;

-- The chunks with the smallest (negative) inner product. required_terms: only chunks with one of them; NULL for all
-- chunks. The other arguments are filters of documents; NULL for none.
CREATE FUNCTION rag_search_terms(
    query sparsevec, sources uuid[], required_terms integer[], maximum integer, is_filtered boolean,
    documents uuid[], wanted_tags text[], source_types text[], content_types text[], langs text[],
    date_from timestamptz, date_to timestamptz
) RETURNS TABLE (chunk_id uuid, distance double precision)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
#variable_conflict use_column
DECLARE
    permitted CONSTANT uuid[] := rag_permitted_sources(sources);
BEGIN
    -- With `+ 0` PostgreSQL cannot use an index on the vectors for the order.
    IF is_filtered THEN
        RETURN QUERY SELECT terms.chunk_id, (terms.weights <#> query) + 0 AS distance FROM rag_chunkterms AS terms
            WHERE terms.source_id = ANY(permitted) AND (required_terms IS NULL OR terms.terms && required_terms)
            AND terms.document_id IN (
                SELECT document.id FROM rag_document AS document
                WHERE document.source_id = ANY(permitted) AND document.deleted_at IS NULL
                AND (documents IS NULL OR document.id = ANY(documents))
                AND (wanted_tags IS NULL OR document.tags && wanted_tags)
                AND (source_types IS NULL OR document.source_type = ANY(source_types))
                AND (content_types IS NULL OR document.content_type = ANY(content_types))
                AND (langs IS NULL OR document.lang = ANY(langs))
                AND (date_from IS NULL OR document.date >= date_from)
                AND (date_to IS NULL OR document.date <= date_to)
            )
            ORDER BY distance, chunk_id LIMIT maximum;
    ELSE
        RETURN QUERY SELECT terms.chunk_id, (terms.weights <#> query) + 0 AS distance FROM rag_chunkterms AS terms
            WHERE terms.source_id = ANY(permitted) AND (required_terms IS NULL OR terms.terms && required_terms)
            AND terms.document_id NOT IN (
                SELECT id FROM rag_document WHERE deleted_at IS NOT NULL AND chunk_count > 0
            )
            ORDER BY distance, chunk_id LIMIT maximum;
    END IF;
END $$;

-- The owner of rag_document is subject to its policies; workers are not. The new owner of a function must be able to
-- create one.
GRANT CREATE ON SCHEMA public TO ragsite_worker;
ALTER FUNCTION rag_search_terms(
    sparsevec, uuid[], integer[], integer, boolean, uuid[], text[], text[], text[], text[], timestamptz, timestamptz
) OWNER TO ragsite_worker;
REVOKE CREATE ON SCHEMA public FROM ragsite_worker;
