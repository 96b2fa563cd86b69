-- Term statistics of whole organisations, by the visibility of the sources: the sums of the statistics of the sources
-- that are not deleted. Triggers keep them exact, so that a search over all public sources reads one row per term.
ALTER TABLE rag_organizationterm SET (fillfactor = 80);
ALTER TABLE rag_organizationterm ENABLE ROW LEVEL SECURITY;
ALTER TABLE rag_organizationconfig ENABLE ROW LEVEL SECURITY;
CREATE POLICY workers ON rag_organizationterm TO ragsite_staff, ragsite_worker USING (true);
CREATE POLICY workers ON rag_organizationconfig TO ragsite_staff, ragsite_worker USING (true);

-- Wait until no other transaction changes the term statistics of these organisations, and keep others waiting until the
-- transaction ends. In the order of the keys, so that two transactions cannot deadlock.
CREATE FUNCTION rag_lock_statistics(organizations uuid[]) RETURNS void
LANGUAGE sql SET search_path = public, pg_temp AS $$
    SELECT pg_advisory_xact_lock(key) FROM (
        SELECT DISTINCT hashtextextended('terms/' || organization, 0) AS key FROM unnest(organizations) AS organization
        ORDER BY key
    ) AS ordered
$$;

DO $$
DECLARE
    kind text;
BEGIN
    FOREACH kind IN ARRAY ARRAY['term', 'config'] LOOP
        -- Add what a statement has changed. Its rows are read by their keys: PostgreSQL plans once, without knowing how
        -- many rows a later statement changes.
        EXECUTE format($sql$
            CREATE FUNCTION rag_total_%1$ss() RETURNS trigger
            LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp
            SET enable_hashjoin = off SET enable_mergejoin = off AS $body$
            BEGIN
                IF TG_OP = 'UPDATE' THEN
                    PERFORM rag_lock_statistics(ARRAY(
                        SELECT organization_id FROM rag_datasource WHERE id IN (SELECT source_id FROM new_rows)
                    ));
                    MERGE INTO rag_organization%1$s AS total USING (
                        SELECT organization_id, visibility, changed.%1$s, sum(changed.chunks) AS chunks FROM (
                            SELECT source_id, %1$s, chunks FROM new_rows
                            UNION ALL SELECT source_id, %1$s, -chunks FROM old_rows
                        ) AS changed JOIN rag_datasource ON id = source_id AND deleted_at IS NULL
                        GROUP BY organization_id, visibility, changed.%1$s
                    ) AS more ON total.organization_id = more.organization_id
                        AND total.visibility = more.visibility AND total.%1$s = more.%1$s
                    WHEN MATCHED AND total.chunks + more.chunks <= 0 THEN DELETE
                    WHEN MATCHED THEN UPDATE SET chunks = total.chunks + more.chunks
                    WHEN NOT MATCHED THEN INSERT (organization_id, visibility, %1$s, chunks)
                        VALUES (more.organization_id, more.visibility, more.%1$s, more.chunks);
                ELSE
                    PERFORM rag_lock_statistics(ARRAY(
                        SELECT organization_id FROM rag_datasource WHERE id IN (SELECT source_id FROM changed_rows)
                    ));
                    MERGE INTO rag_organization%1$s AS total USING (
                        SELECT organization_id, visibility, %1$s,
                            sum(CASE WHEN TG_OP = 'INSERT' THEN chunks ELSE -chunks END) AS chunks
                        FROM changed_rows JOIN rag_datasource ON id = source_id AND deleted_at IS NULL
                        WHERE chunks <> 0 GROUP BY organization_id, visibility, %1$s
                    ) AS more ON total.organization_id = more.organization_id
                        AND total.visibility = more.visibility AND total.%1$s = more.%1$s
                    WHEN MATCHED AND total.chunks + more.chunks <= 0 THEN DELETE
                    WHEN MATCHED THEN UPDATE SET chunks = total.chunks + more.chunks
                    WHEN NOT MATCHED THEN INSERT (organization_id, visibility, %1$s, chunks)
                        VALUES (more.organization_id, more.visibility, more.%1$s, more.chunks);
                END IF;
                RETURN NULL;
            END $body$
        $sql$, kind);
        EXECUTE format(
            'CREATE TRIGGER total_inserted AFTER INSERT ON rag_source%1$s REFERENCING NEW TABLE AS changed_rows '
            'FOR EACH STATEMENT EXECUTE FUNCTION rag_total_%1$ss()', kind
        );
        EXECUTE format(
            'CREATE TRIGGER total_deleted AFTER DELETE ON rag_source%1$s REFERENCING OLD TABLE AS changed_rows '
            'FOR EACH STATEMENT EXECUTE FUNCTION rag_total_%1$ss()', kind
        );
        EXECUTE format(
            'CREATE TRIGGER total_updated AFTER UPDATE ON rag_source%1$s REFERENCING OLD TABLE AS old_rows '
            'NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION rag_total_%1$ss()', kind
        );
    END LOOP;
END $$;

-- Add the statistics of a source to the totals of an organisation and a visibility, or subtract them with factor -1.
CREATE FUNCTION rag_add_to_totals(source uuid, organization uuid, new_visibility text, factor integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    MERGE INTO rag_organizationterm AS total USING (
        SELECT term, factor * chunks AS chunks FROM rag_sourceterm WHERE source_id = source AND chunks <> 0
    ) AS more ON organization_id = organization AND visibility = new_visibility AND total.term = more.term
    WHEN MATCHED AND total.chunks + more.chunks <= 0 THEN DELETE
    WHEN MATCHED THEN UPDATE SET chunks = total.chunks + more.chunks
    WHEN NOT MATCHED THEN INSERT (organization_id, visibility, term, chunks)
        VALUES (organization, new_visibility, more.term, more.chunks);
    MERGE INTO rag_organizationconfig AS total USING (
        SELECT config, factor * chunks AS chunks FROM rag_sourceconfig WHERE source_id = source AND chunks <> 0
    ) AS more ON organization_id = organization AND visibility = new_visibility AND total.config = more.config
    WHEN MATCHED AND total.chunks + more.chunks <= 0 THEN DELETE
    WHEN MATCHED THEN UPDATE SET chunks = total.chunks + more.chunks
    WHEN NOT MATCHED THEN INSERT (organization_id, visibility, config, chunks)
        VALUES (organization, new_visibility, more.config, more.chunks);
END $$;

-- A source that is deleted or gets another visibility.
CREATE FUNCTION rag_move_totals() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM rag_lock_statistics(ARRAY[OLD.organization_id]);
    IF OLD.deleted_at IS NULL THEN
        PERFORM rag_add_to_totals(OLD.id, OLD.organization_id, OLD.visibility, -1);
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF NEW.deleted_at IS NULL THEN
            PERFORM rag_add_to_totals(NEW.id, NEW.organization_id, NEW.visibility, 1);
        END IF;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER totals_moved AFTER UPDATE OF visibility, deleted_at, organization_id ON rag_datasource FOR EACH ROW
    WHEN ((OLD.visibility, OLD.organization_id, OLD.deleted_at IS NULL)
        IS DISTINCT FROM (NEW.visibility, NEW.organization_id, NEW.deleted_at IS NULL))
    EXECUTE FUNCTION rag_move_totals();
CREATE TRIGGER totals_deleted AFTER DELETE ON rag_datasource FOR EACH ROW EXECUTE FUNCTION rag_move_totals();

INSERT INTO rag_organizationterm (organization_id, visibility, term, chunks)
    SELECT organization_id, visibility, term, sum(chunks) FROM rag_sourceterm
    JOIN rag_datasource ON id = source_id AND deleted_at IS NULL GROUP BY organization_id, visibility, term;
INSERT INTO rag_organizationconfig (organization_id, visibility, config, chunks)
    SELECT organization_id, visibility, config, sum(chunks) FROM rag_sourceconfig
    JOIN rag_datasource ON id = source_id AND deleted_at IS NULL WHERE chunks > 0
    GROUP BY organization_id, visibility, config;
