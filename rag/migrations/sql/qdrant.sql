-- Qdrant searches copies of the vectors and words that PostgreSQL keeps. This file records which copies are outdated, and
-- decides what a search may find: PostgreSQL lists the sources before it and checks each result after it.

-- Only workers read the outbox.
ALTER TABLE rag_indexchange ENABLE ROW LEVEL SECURITY;
ALTER TABLE rag_indexchange FORCE ROW LEVEL SECURITY;
CREATE POLICY workers ON rag_indexchange TO ragsite_worker USING (true);

-- Record the documents of the changed rows, whoever changes them: requests may not write to the outbox.
CREATE FUNCTION rag_record_index_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    INSERT INTO rag_indexchange (document_id) SELECT DISTINCT document_id FROM changed;
    RETURN NULL;
END $$;

-- The triggers are off until `manage.py move_vectors qdrant` enables them, so they cost nothing with pgvector.
DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'rag_embedding384', 'rag_embedding512', 'rag_embedding768', 'rag_embedding1536', 'rag_embedding3072',
        'rag_chunkterms'
    ] LOOP
        EXECUTE format('CREATE TRIGGER index_change_insert AFTER INSERT ON %I REFERENCING NEW TABLE AS changed '
            'FOR EACH STATEMENT EXECUTE FUNCTION rag_record_index_change()', name);
        EXECUTE format('CREATE TRIGGER index_change_update AFTER UPDATE ON %I REFERENCING NEW TABLE AS changed '
            'FOR EACH STATEMENT EXECUTE FUNCTION rag_record_index_change()', name);
        EXECUTE format('CREATE TRIGGER index_change_delete AFTER DELETE ON %I REFERENCING OLD TABLE AS changed '
            'FOR EACH STATEMENT EXECUTE FUNCTION rag_record_index_change()', name);
        EXECUTE format('ALTER TABLE %I DISABLE TRIGGER index_change_insert, DISABLE TRIGGER index_change_update, '
            'DISABLE TRIGGER index_change_delete', name);
    END LOOP;
END $$;

-- Whether changes are recorded.
CREATE FUNCTION rag_records_index_changes() RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT bool_and(tgenabled <> 'D') FROM pg_trigger WHERE tgname LIKE 'index\_change\_%'
$$;

-- The sources of a scope that the transaction's identity may use, with their organisations.
CREATE FUNCTION rag_list_scope(wanted rag_scope) RETURNS TABLE (source_id uuid, organization_id uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    scope CONSTANT rag_scope := rag_permitted_scope(wanted);
BEGIN
    RETURN QUERY EXECUTE 'SELECT source.id, source.organization_id FROM rag_datasource AS source '
        'WHERE source.deleted_at IS NULL AND ' || rag_source_condition(scope)
    USING scope.model, scope.organizations, scope.model_use, scope.second_of, scope.sources;
END $$;

-- The scores of those of these chunks that exist, match the filters and belong to a source that the transaction's
-- identity may use at this moment. Nothing is taken from where the ids were found.
CREATE FUNCTION rag_score_chunks(
    wanted rag_scope, filters rag_filters, dimensions integer, vector text, words sparsevec, all_terms integer[],
    chunk_ids uuid[]
) RETURNS TABLE (
    chunk_id uuid, distance double precision, word_distance double precision, matched_terms integer[]
)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    scope CONSTANT rag_scope := rag_permitted_scope(wanted);
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT chunk.id, %s, terms.weights <#> $6, '
        'ARRAY(SELECT term FROM unnest($7) AS term WHERE term = ANY(terms.terms)) '
        'FROM rag_chunk AS chunk '
        'JOIN rag_document AS document ON document.id = chunk.document_id AND document.deleted_at IS NULL '
        'JOIN rag_datasource AS source ON source.id = chunk.source_id AND source.deleted_at IS NULL '
        'LEFT JOIN rag_chunkterms AS terms ON terms.chunk_id = chunk.id '
        'WHERE chunk.id = ANY($8) AND %s '
        'AND ($10 IS NULL OR document.tags && $10) AND ($11 IS NULL OR document.source_type = ANY($11)) '
        'AND ($12 IS NULL OR document.content_type = ANY($12)) AND ($13 IS NULL OR document.lang = ANY($13)) '
        'AND ($14 IS NULL OR document.date >= $14) AND ($15 IS NULL OR document.date <= $15)',
        CASE WHEN vector IS NULL THEN 'NULL::double precision' ELSE format(
            '(SELECT embedding <=> $9 FROM %I AS stored WHERE stored.chunk_id = chunk.id AND stored.model_id = $1)',
            'rag_embedding' || dimensions
        ) END,
        rag_source_condition(scope)
    ) USING scope.model, scope.organizations, scope.model_use, scope.second_of, scope.sources, words, all_terms,
        chunk_ids, vector::halfvec, filters.tags, filters.source_types, filters.content_types, filters.langs,
        filters.date_from, filters.date_to;
END $$;

-- The owner of these tables is subject to their policies; workers are not.
GRANT CREATE ON SCHEMA public TO ragsite_worker;
ALTER FUNCTION rag_record_index_change() OWNER TO ragsite_worker;
ALTER FUNCTION rag_list_scope(rag_scope) OWNER TO ragsite_worker;
ALTER FUNCTION rag_score_chunks(rag_scope, rag_filters, integer, text, sparsevec, integer[], uuid[])
    OWNER TO ragsite_worker;
REVOKE CREATE ON SCHEMA public FROM ragsite_worker;
