-- The version of everything that decides access: a number that each committed change of it changes at random. A read
-- replica with the version of the primary has replayed all changes that the primary shows
-- (docs/decisions/0072-read-replicas.md).
--
-- The version is the XOR of all marks. Each change adds a mark and merges those that no other transaction has locked, so
-- changes never wait for each other, and there are hardly more rows than transactions in progress. Which of two changes
-- is committed first does not matter, unlike with a counter.
CREATE TABLE ragsite_private.access_change (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    mark bigint NOT NULL
);

CREATE FUNCTION rag_access_version() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(bit_xor(mark), 0) FROM ragsite_private.access_change
$$;

CREATE FUNCTION rag_change_access_version() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    WITH merged AS (
        DELETE FROM ragsite_private.access_change WHERE id = ANY(ARRAY(
            SELECT id FROM ragsite_private.access_change LIMIT 100 FOR UPDATE SKIP LOCKED
        )) RETURNING mark
    )
    INSERT INTO ragsite_private.access_change (mark)
    SELECT uuid_hash_extended(gen_random_uuid(), 0) # coalesce((SELECT bit_xor(mark) FROM merged), 0);
    RETURN NULL;
END $$;

-- Of each table, the columns that decide who may do what, or which vectors a search compares. Other columns, such as
-- the time of the latest use of a key, are changed by most requests.
DO $$
DECLARE
    name text;
    columns text;
BEGIN
    FOR name, columns IN VALUES
        ('accounts_user', 'is_active, is_superuser'),
        ('orgs_organization', 'is_active'),
        ('orgs_membership', 'user_id, organization_id, is_active'),
        ('orgs_membership_roles', 'membership_id, role_id'),
        ('orgs_membership_teams', 'membership_id, team_id'),
        ('orgs_role', 'organization_id, permissions'),
        ('orgs_team', 'organization_id, parent_id'),
        ('orgs_apikey', 'user_id, organization_id, all_organizations, scopes, source_ids, expires_at, revoked_at'),
        ('rag_grant', 'source_id, user_id, role_id, team_id, expires_at'),
        ('rag_datasource', 'organization_id, visibility, owner_id, access_list_id, deleted_at, embedding_model_id, '
            'second_model_id, second_model_ready_at')
    LOOP
        EXECUTE format(
            'CREATE TRIGGER access_version AFTER INSERT OR DELETE OR UPDATE OF %s ON %I '
            'FOR EACH STATEMENT EXECUTE FUNCTION rag_change_access_version()',
            columns, name
        );
    END LOOP;
END $$;
