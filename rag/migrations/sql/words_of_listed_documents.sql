-- A search by words in listed documents, which may have many chunks, does not read the list again for each match.

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
                'SELECT chunk_id, (weights <#> $6) + 0 AS distance FROM rag_chunkterms '
                'WHERE terms && $7 AND %s AND document_id IN (SELECT unnest($9)) ORDER BY distance, chunk_id LIMIT $8',
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
