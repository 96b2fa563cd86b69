-- Term statistics of access lists: the sums of the statistics of their sources that are not deleted. They replace those
-- of organisations and visibilities. Triggers keep them exact.
DROP TRIGGER totals_moved ON rag_datasource;
DROP TRIGGER totals_deleted ON rag_datasource;
DROP FUNCTION rag_move_totals, rag_add_to_totals, rag_statistics_of;
DROP TYPE rag_statistics;
-- A source, whether its statistics are counted in the total of its access list, and whether they are added (1) or
-- subtracted (-1).
CREATE TYPE rag_moved_source AS (
    source_id uuid, organization_id uuid, access_list_id uuid, is_counted boolean, factor integer
);

ALTER TABLE rag_organizationterm SET (fillfactor = 80);
DO $$
DECLARE
    kind text;
BEGIN
    FOREACH kind IN ARRAY ARRAY['term', 'config'] LOOP
        EXECUTE format('ALTER TABLE rag_organization%s ENABLE ROW LEVEL SECURITY', kind);
        EXECUTE format(
            'CREATE POLICY workers ON rag_organization%s TO ragsite_staff, ragsite_worker USING (true)', kind
        );
        EXECUTE format(
            'CREATE POLICY staff ON rag_organization%s AS RESTRICTIVE TO ragsite_staff USING ('
            '(SELECT orgs_is_unlimited_staff()) OR organization_id = ANY((SELECT orgs_own_organizations())::uuid[]))',
            kind
        );
        -- Add what a statement has changed. Its rows are read by their keys: PostgreSQL plans once, without knowing how
        -- many rows a later statement changes.
        EXECUTE format($sql$
            CREATE OR REPLACE FUNCTION rag_total_%1$ss() RETURNS trigger
            LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
            SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
            BEGIN
                IF TG_OP = 'UPDATE' THEN
                    PERFORM rag_lock_statistics(ARRAY(
                        SELECT organization_id FROM rag_datasource WHERE id IN (SELECT source_id FROM new_rows)
                    ));
                    MERGE INTO rag_organization%1$s AS total USING (
                        SELECT organization_id, access_list_id, changed.%1$s, sum(changed.chunks) AS chunks FROM (
                            SELECT source_id, %1$s, chunks FROM new_rows
                            UNION ALL SELECT source_id, %1$s, -chunks FROM old_rows
                        ) AS changed JOIN rag_datasource ON id = source_id AND deleted_at IS NULL
                        GROUP BY organization_id, access_list_id, changed.%1$s
                    ) AS more ON total.access_list_id = more.access_list_id AND total.%1$s = more.%1$s
                    WHEN MATCHED AND total.chunks + more.chunks <= 0 THEN DELETE
                    WHEN MATCHED THEN UPDATE SET chunks = total.chunks + more.chunks
                    WHEN NOT MATCHED THEN INSERT (organization_id, access_list_id, %1$s, chunks)
                        VALUES (more.organization_id, more.access_list_id, more.%1$s, more.chunks);
                ELSE
                    PERFORM rag_lock_statistics(ARRAY(
                        SELECT organization_id FROM rag_datasource WHERE id IN (SELECT source_id FROM changed_rows)
                    ));
                    MERGE INTO rag_organization%1$s AS total USING (
                        SELECT organization_id, access_list_id, %1$s,
                            sum(CASE WHEN TG_OP = 'INSERT' THEN chunks ELSE -chunks END) AS chunks
                        FROM changed_rows JOIN rag_datasource ON id = source_id AND deleted_at IS NULL
                        WHERE chunks <> 0 GROUP BY organization_id, access_list_id, %1$s
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

-- Sources that are deleted or get another access list: their statistics are moved together. A list without sources is
-- deleted, unless another transaction is about to use it.
CREATE FUNCTION rag_move_totals() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    -- The sources before, each with factor -1, and as they are now.
    moved rag_moved_source[];
    left_list uuid;
BEGIN
    IF TG_OP = 'DELETE' THEN
        moved := ARRAY(
            SELECT ROW(id, organization_id, access_list_id, deleted_at IS NULL, -1)::rag_moved_source FROM old_rows
        );
    ELSE
        -- Sources in which this has not changed cancel out. Not a join: PostgreSQL plans once, for few rows.
        moved := ARRAY(
            SELECT ROW(id, organization_id, access_list_id, is_counted, sum(factor))::rag_moved_source FROM (
                SELECT id, organization_id, access_list_id, deleted_at IS NULL AS is_counted, -1 AS factor FROM old_rows
                UNION ALL SELECT id, organization_id, access_list_id, deleted_at IS NULL, 1 FROM new_rows
            ) AS states GROUP BY id, organization_id, access_list_id, is_counted HAVING sum(factor) <> 0
        );
    END IF;
    IF cardinality(moved) = 0 THEN
        RETURN NULL;
    END IF;
    PERFORM rag_lock_statistics(ARRAY(SELECT DISTINCT organization_id FROM unnest(moved)));
    MERGE INTO rag_organizationterm AS total USING (
        SELECT organization_id, access_list_id, term, sum(factor * chunks) AS chunks FROM unnest(moved)
        JOIN rag_sourceterm USING (source_id) WHERE is_counted GROUP BY organization_id, access_list_id, term
    ) AS more ON total.access_list_id = more.access_list_id AND total.term = more.term
    WHEN MATCHED AND total.chunks + more.chunks <= 0 THEN DELETE
    WHEN MATCHED THEN UPDATE SET chunks = total.chunks + more.chunks
    WHEN NOT MATCHED AND more.chunks > 0 THEN INSERT (organization_id, access_list_id, term, chunks)
        VALUES (more.organization_id, more.access_list_id, more.term, more.chunks);
    MERGE INTO rag_organizationconfig AS total USING (
        SELECT organization_id, access_list_id, config, sum(factor * chunks) AS chunks FROM unnest(moved)
        JOIN rag_sourceconfig USING (source_id) WHERE is_counted GROUP BY organization_id, access_list_id, config
    ) AS more ON total.access_list_id = more.access_list_id AND total.config = more.config
    WHEN MATCHED AND total.chunks + more.chunks <= 0 THEN DELETE
    WHEN MATCHED THEN UPDATE SET chunks = total.chunks + more.chunks
    WHEN NOT MATCHED AND more.chunks > 0 THEN INSERT (organization_id, access_list_id, config, chunks)
        VALUES (more.organization_id, more.access_list_id, more.config, more.chunks);
    FOR left_list IN SELECT DISTINCT access_list_id FROM unnest(moved) WHERE factor = -1 ORDER BY 1 LOOP
        IF NOT EXISTS (SELECT FROM rag_datasource WHERE access_list_id = left_list) THEN
            PERFORM FROM rag_accesslist WHERE id = left_list FOR UPDATE SKIP LOCKED;
            IF FOUND THEN  -- whoever used the list meanwhile has committed
                DELETE FROM rag_accesslist WHERE id = left_list
                    AND NOT EXISTS (SELECT FROM rag_datasource WHERE access_list_id = left_list);
            END IF;
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
CREATE TRIGGER totals_moved AFTER UPDATE ON rag_datasource REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
    FOR EACH STATEMENT EXECUTE FUNCTION rag_move_totals();
CREATE TRIGGER totals_deleted AFTER DELETE ON rag_datasource REFERENCING OLD TABLE AS old_rows
    FOR EACH STATEMENT EXECUTE FUNCTION rag_move_totals();

INSERT INTO rag_organizationterm (organization_id, access_list_id, term, chunks)
    SELECT organization_id, access_list_id, term, sum(chunks) FROM rag_sourceterm
    JOIN rag_datasource ON id = source_id AND deleted_at IS NULL GROUP BY organization_id, access_list_id, term;
INSERT INTO rag_organizationconfig (organization_id, access_list_id, config, chunks)
    SELECT organization_id, access_list_id, config, sum(chunks) FROM rag_sourceconfig
    JOIN rag_datasource ON id = source_id AND deleted_at IS NULL WHERE chunks > 0
    GROUP BY organization_id, access_list_id, config;
