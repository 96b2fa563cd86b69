-- What a statement has changed is added to the totals of access lists, as before. The sources of the changed rows are
-- looked up by their keys: PostgreSQL plans once, perhaps when there are few sources. It read all of them for each changed
-- row then, in an index that has only those that are not deleted, so this is asked afterwards.
DO $$
DECLARE
    kind text;
BEGIN
    FOREACH kind IN ARRAY ARRAY['term', 'config'] LOOP
        EXECUTE format($sql$
            CREATE OR REPLACE FUNCTION rag_total_%1$ss() RETURNS trigger
            LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
            SET enable_hashjoin = off SET enable_mergejoin = off SET enable_seqscan = off AS $body$
            BEGIN
                IF TG_OP = 'UPDATE' THEN
                    PERFORM rag_lock_statistics(ARRAY(
                        SELECT source.organization_id FROM (SELECT DISTINCT source_id FROM new_rows) AS changed
                        CROSS JOIN LATERAL (
                            SELECT organization_id FROM rag_datasource WHERE id = changed.source_id OFFSET 0
                        ) AS source
                    ));
                    MERGE INTO rag_organization%1$s AS total USING (
                        SELECT source.organization_id, source.access_list_id, changed.%1$s, sum(changed.chunks) AS chunks
                        FROM (
                            SELECT source_id, %1$s, chunks FROM new_rows
                            UNION ALL SELECT source_id, %1$s, -chunks FROM old_rows
                        ) AS changed
                        CROSS JOIN LATERAL (
                            SELECT organization_id, access_list_id, deleted_at FROM rag_datasource
                            WHERE id = changed.source_id OFFSET 0
                        ) AS source
                        WHERE source.deleted_at IS NULL
                        GROUP BY source.organization_id, source.access_list_id, changed.%1$s
                    ) AS more ON total.access_list_id = more.access_list_id AND total.%1$s = more.%1$s
                    WHEN MATCHED AND total.chunks + more.chunks <= 0 THEN DELETE
                    WHEN MATCHED THEN UPDATE SET chunks = total.chunks + more.chunks
                    WHEN NOT MATCHED THEN INSERT (organization_id, access_list_id, %1$s, chunks)
                        VALUES (more.organization_id, more.access_list_id, more.%1$s, more.chunks);
                ELSE
                    PERFORM rag_lock_statistics(ARRAY(
                        SELECT source.organization_id FROM (SELECT DISTINCT source_id FROM changed_rows) AS changed
                        CROSS JOIN LATERAL (
                            SELECT organization_id FROM rag_datasource WHERE id = changed.source_id OFFSET 0
                        ) AS source
                    ));
                    MERGE INTO rag_organization%1$s AS total USING (
                        SELECT source.organization_id, source.access_list_id, changed.%1$s,
                            sum(CASE WHEN TG_OP = 'INSERT' THEN changed.chunks ELSE -changed.chunks END) AS chunks
                        FROM changed_rows AS changed
                        CROSS JOIN LATERAL (
                            SELECT organization_id, access_list_id, deleted_at FROM rag_datasource
                            WHERE id = changed.source_id OFFSET 0
                        ) AS source
                        WHERE source.deleted_at IS NULL AND changed.chunks <> 0
                        GROUP BY source.organization_id, source.access_list_id, changed.%1$s
                    ) AS more ON total.access_list_id = more.access_list_id AND total.%1$s = more.%1$s
                    WHEN MATCHED AND total.chunks + more.chunks <= 0 THEN DELETE
                    WHEN MATCHED THEN UPDATE SET chunks = total.chunks + more.chunks
                    WHEN NOT MATCHED THEN INSERT (organization_id, access_list_id, %1$s, chunks)
                        VALUES (more.organization_id, more.access_list_id, more.%1$s, more.chunks);
                END IF;
                RETURN NULL;
            END $body$
        $sql$, kind);
    END LOOP;
END $$;
