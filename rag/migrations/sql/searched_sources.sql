-- The names of all sources that a search reads, for contracts that list them. Processes of an earlier version call the
-- function with one argument.
GRANT CREATE ON SCHEMA public TO ragsite_worker;
SET LOCAL ROLE ragsite_worker;

-- The ids of the sources of a scope that the transaction's identity may use, of any model, as a JSON array in ascending
-- order; NULL if the caller has the array of this version. What is permitted is read each time, in the snapshot of the
-- statement; the version only says that the sources of the permitted lists are those of the array.
--
-- A source gets into a list or out of it if its organisation's sources, roles or teams are changed, or the grants of the
-- user: each changes the version of one of these. A grant to somebody else moves a source between lists that are both
-- open to the user. A transaction that has written something gets no version: its own changes count as one.
-- By an index: PostgreSQL would read all sources of the database to list few.
CREATE FUNCTION rag_list_sources(wanted rag_scope, known_version text, OUT version text, OUT ids text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp SET plan_cache_mode = force_generic_plan
SET enable_seqscan = off AS $$
DECLARE
    scope rag_scope := rag_permitted_scope(wanted);
BEGIN
    scope.sources := ARRAY(
        SELECT id FROM rag_datasource WHERE id = ANY(scope.sources) AND deleted_at IS NULL ORDER BY id
    );
    IF pg_current_xact_id_if_assigned() IS NULL THEN
        version := encode(sha256(convert_to(concat_ws(
            '/', ARRAY(SELECT unnest(scope.lists) ORDER BY 1), scope.sources, rag_access_version(
                wanted.organizations || (wanted.granted).organizations || (wanted.granted).user_id
            )
        ), 'UTF8')), 'hex');
        IF version = known_version THEN
            RETURN;
        END IF;
    END IF;
    -- Sorted afterwards: PostgreSQL would read all sources in the order of their ids.
    ids := array_to_json(ARRAY(
        WITH listed AS MATERIALIZED (
            SELECT id FROM rag_datasource WHERE access_list_id = ANY(scope.lists) AND deleted_at IS NULL
            UNION ALL SELECT unnest(rag_other_sources(scope))
        )
        SELECT id FROM listed ORDER BY id
    ));
END $$;
RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM ragsite_worker;
