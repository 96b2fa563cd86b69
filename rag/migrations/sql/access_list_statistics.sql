-- Term statistics of access lists: the sums of the statistics of their sources that are not deleted. They replace those
-- of organisations and visibilities. Triggers keep them exact.
DROP TRIGGER totals_moved ON rag_datasource;
DROP TRIGGER totals_deleted ON rag_datasource;
DROP FUNCTION rag_move_totals, rag_add_to_totals, rag_statistics_of;
DROP TYPE rag_statistics;

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

-- Add the statistics of a source to the totals of an access list, or subtract them with factor -1.
CREATE FUNCTION rag_add_to_totals(source uuid, organization uuid, list uuid, factor integer) RETURNS void
LANGUAGE plpgsql SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    MERGE INTO rag_organizationterm AS total USING (
        SELECT term, factor * chunks AS chunks FROM rag_sourceterm WHERE source_id = source AND chunks <> 0
    ) AS more ON access_list_id = list AND total.term = more.term
    WHEN MATCHED AND total.chunks + more.chunks <= 0 THEN DELETE
    WHEN MATCHED THEN UPDATE SET chunks = total.chunks + more.chunks
    WHEN NOT MATCHED THEN INSERT (organization_id, access_list_id, term, chunks)
        VALUES (organization, list, more.term, more.chunks);
    MERGE INTO rag_organizationconfig AS total USING (
        SELECT config, factor * chunks AS chunks FROM rag_sourceconfig WHERE source_id = source AND chunks <> 0
    ) AS more ON access_list_id = list AND total.config = more.config
    WHEN MATCHED AND total.chunks + more.chunks <= 0 THEN DELETE
    WHEN MATCHED THEN UPDATE SET chunks = total.chunks + more.chunks
    WHEN NOT MATCHED THEN INSERT (organization_id, access_list_id, config, chunks)
        VALUES (organization, list, more.config, more.chunks);
END $$;

-- A source that is deleted or gets another access list. A list without sources is deleted, unless another transaction is
-- about to use it.
CREATE FUNCTION rag_move_totals() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM rag_lock_statistics(ARRAY[OLD.organization_id]);
    IF OLD.deleted_at IS NULL THEN
        PERFORM rag_add_to_totals(OLD.id, OLD.organization_id, OLD.access_list_id, -1);
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NEW.deleted_at IS NULL THEN
            PERFORM rag_add_to_totals(NEW.id, NEW.organization_id, NEW.access_list_id, 1);
        END IF;
        IF OLD.access_list_id = NEW.access_list_id THEN
            RETURN NULL;
        END IF;
    END IF;
    IF NOT EXISTS (SELECT FROM rag_datasource WHERE access_list_id = OLD.access_list_id) THEN
        PERFORM FROM rag_accesslist WHERE id = OLD.access_list_id FOR UPDATE SKIP LOCKED;
        IF FOUND THEN  -- whoever used the list meanwhile has committed
            DELETE FROM rag_accesslist WHERE id = OLD.access_list_id
                AND NOT EXISTS (SELECT FROM rag_datasource WHERE access_list_id = OLD.access_list_id);
        END IF;
    END IF;
    RETURN NULL;
END $$;
-- Without a list of columns: the access list is set by a trigger and not by the statement.
CREATE TRIGGER totals_moved AFTER UPDATE ON rag_datasource FOR EACH ROW
    WHEN ((OLD.access_list_id, OLD.deleted_at IS NULL) IS DISTINCT FROM (NEW.access_list_id, NEW.deleted_at IS NULL))
    EXECUTE FUNCTION rag_move_totals();
CREATE TRIGGER totals_deleted AFTER DELETE ON rag_datasource FOR EACH ROW EXECUTE FUNCTION rag_move_totals();

INSERT INTO rag_organizationterm (organization_id, access_list_id, term, chunks)
    SELECT organization_id, access_list_id, term, sum(chunks) FROM rag_sourceterm
    JOIN rag_datasource ON id = source_id AND deleted_at IS NULL GROUP BY organization_id, access_list_id, term;
INSERT INTO rag_organizationconfig (organization_id, access_list_id, config, chunks)
    SELECT organization_id, access_list_id, config, sum(chunks) FROM rag_sourceconfig
    JOIN rag_datasource ON id = source_id AND deleted_at IS NULL WHERE chunks > 0
    GROUP BY organization_id, access_list_id, config;
