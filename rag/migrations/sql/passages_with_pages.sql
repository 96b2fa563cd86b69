-- Passages with where their pages start. Processes of an earlier version call rag_read_passages.
GRANT CREATE ON SCHEMA public TO ragsite_worker;
SET LOCAL ROLE ragsite_worker;

-- `page_starts` has the starts of the second to the last page of a chunk, in characters of the document; NULL if the
-- chunk is on one page or the starts are unknown. Only for chunks on several pages PostgreSQL reads the document's list.
CREATE FUNCTION rag_read_passages_with_pages(chunk_ids uuid[]) RETURNS TABLE (
    chunk_id uuid, document_id uuid, source_id uuid, source_slug varchar, organization_id uuid, text text,
    "position" integer, start integer, "end" integer, headings text[], first_page integer, last_page integer,
    page_starts integer[], title text, path text, uri text, content_type varchar, source_type varchar, lang varchar,
    tags text[], metadata jsonb, date timestamptz
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
        chunk.start, chunk."end", chunk.headings, chunk.first_page, chunk.last_page,
        CASE WHEN chunk.first_page < chunk.last_page
            THEN document.page_starts[chunk.first_page + 1 : chunk.last_page]
        END,
        document.title, document.path, document.uri, document.content_type, document.source_type, document.lang,
        document.tags, document.metadata, document.date
    FROM rag_chunk AS chunk
    JOIN rag_document AS document ON document.id = chunk.document_id AND document.deleted_at IS NULL
    JOIN rag_datasource AS source ON source.id = chunk.source_id
    WHERE chunk.id = ANY(chunk_ids) AND chunk.source_id = ANY(permitted);
END $$;
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM ragsite_worker;
