-- Who may query a source, as one id: sources with the same audience share an access list. So a search compares few ids
-- however many sources are granted, and term statistics are sums over the sources of a list
-- (docs/decisions/0074-access-lists.md). Triggers keep the list of each source; nothing else changes it.
ALTER TABLE rag_accesslist ENABLE ROW LEVEL SECURITY;
-- The triggers run as workers, also before the other grants are given after the migrations.
GRANT SELECT, INSERT, UPDATE, DELETE ON rag_accesslist TO ragsite_worker;
CREATE POLICY workers ON rag_accesslist TO ragsite_staff, ragsite_worker USING (true);
CREATE POLICY staff ON rag_accesslist AS RESTRICTIVE TO ragsite_staff USING (
    (SELECT orgs_is_unlimited_staff()) OR organization_id = ANY((SELECT orgs_own_organizations())::uuid[])
);
-- Without a pending list, so that a search never reads entries one by one.
CREATE INDEX accesslist_principals ON rag_accesslist USING gin (principals) WITH (fastupdate = off);

GRANT CREATE ON SCHEMA public TO ragsite_worker;
SET LOCAL ROLE ragsite_worker;

-- Set the access list of a source that is written, whatever the statement says, and create the list if it is the first
-- source that has it. The id is a digest of the list. A grant of another kind than the visibility says, or to a role or
-- team of another organisation, has no effect.
CREATE FUNCTION rag_set_access_list() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET timezone = 'UTC' SET datestyle = 'ISO'
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    listed uuid[] := '{}';
    ends timestamptz[];
BEGIN
    IF NEW.visibility = 'personal' THEN
        listed := array_remove(ARRAY[NEW.owner_id], NULL);
    ELSIF NEW.visibility <> 'public' THEN
        SELECT coalesce(array_agg(id ORDER BY id), '{}'),
            CASE WHEN count(expires_at) > 0 THEN array_agg(coalesce(expires_at, 'infinity') ORDER BY id) END
            INTO listed, ends
        FROM (
            SELECT user_id AS id, expires_at FROM rag_grant
            WHERE source_id = NEW.id AND NEW.visibility = 'private' AND user_id IS NOT NULL
            UNION ALL
            SELECT role.id, expires_at FROM rag_grant
            JOIN orgs_role AS role ON role.id = role_id AND role.organization_id = NEW.organization_id
            WHERE source_id = NEW.id AND NEW.visibility = 'role'
            UNION ALL
            SELECT team.id, expires_at FROM rag_grant
            JOIN orgs_team AS team ON team.id = team_id AND team.organization_id = NEW.organization_id
            WHERE source_id = NEW.id AND NEW.visibility = 'team'
        ) AS grants;
    END IF;
    NEW.access_list_id := encode(substr(sha256(convert_to(concat_ws(
        '/', NEW.organization_id, NEW.visibility, array_to_string(listed, ','), array_to_string(ends, ',')
    ), 'UTF8')), 1, 16), 'hex')::uuid;
    LOOP
        -- The lock keeps others from deleting the list as unused (rag_move_totals) until this transaction ends.
        PERFORM FROM rag_accesslist WHERE id = NEW.access_list_id FOR KEY SHARE;
        EXIT WHEN FOUND;
        INSERT INTO rag_accesslist (id, organization_id, visibility, principals, expiries)
            VALUES (NEW.access_list_id, NEW.organization_id, NEW.visibility, listed, ends) ON CONFLICT DO NOTHING;
    END LOOP;
    RETURN NEW;
END $$;

-- Set the access lists of sources whose grants a statement has changed. In the order of their keys, so that two
-- statements cannot deadlock. A source that another transaction is changing is waited for, and its grants read then.
CREATE FUNCTION rag_renew_access_lists() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
    PERFORM FROM rag_datasource WHERE id IN (SELECT source_id FROM changed_rows) ORDER BY id FOR NO KEY UPDATE;
    UPDATE rag_datasource SET access_list_id = NULL
        WHERE id IN (SELECT source_id FROM changed_rows) AND visibility NOT IN ('public', 'personal');
    RETURN NULL;
END $$;

RESET ROLE;
REVOKE CREATE ON SCHEMA public FROM ragsite_worker;

CREATE TRIGGER access_list_set BEFORE INSERT OR UPDATE OF access_list_id, visibility, owner_id, organization_id
    ON rag_datasource FOR EACH ROW EXECUTE FUNCTION rag_set_access_list();
CREATE TRIGGER access_lists_renewed AFTER INSERT ON rag_grant REFERENCING NEW TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION rag_renew_access_lists();
CREATE TRIGGER access_lists_reduced AFTER DELETE ON rag_grant REFERENCING OLD TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION rag_renew_access_lists();
CREATE TRIGGER access_lists_changed_from AFTER UPDATE ON rag_grant REFERENCING OLD TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION rag_renew_access_lists();
CREATE TRIGGER access_lists_changed_to AFTER UPDATE ON rag_grant REFERENCING NEW TABLE AS changed_rows
    FOR EACH STATEMENT EXECUTE FUNCTION rag_renew_access_lists();

UPDATE rag_datasource SET access_list_id = NULL;
-- The source's list was added by this transaction: its foreign key is checked before the tables are changed again.
SET CONSTRAINTS ALL IMMEDIATE;
