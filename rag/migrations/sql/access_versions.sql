-- The version of what decides access (access_version.sql), by subject: a user, an organisation, or everybody. So a change
-- sends only those to the primary whom it concerns (docs/decisions/0072-read-replicas.md).
--
-- A change of what one member may do concerns this user. A change of sources, roles and teams concerns all who search in
-- the organisation, and one of whole organisations everybody.
CREATE TABLE ragsite_private.access_mark (
    id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    subject uuid NOT NULL,
    mark bigint NOT NULL,
    -- The transaction that has added the mark. A restored row may have the number of a later one, but not its time.
    changed_by xid8 NOT NULL DEFAULT pg_current_xact_id(),
    changed_at timestamptz NOT NULL DEFAULT transaction_timestamp()
);
CREATE INDEX access_mark_subject ON ragsite_private.access_mark (subject);

-- For processes of an earlier version, while they are replaced: one version for all subjects.
CREATE OR REPLACE FUNCTION rag_access_version() RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(bit_xor(mark), 0) FROM ragsite_private.access_mark
$$;

-- The version for a caller who searches in some organisations: the subjects are the user and the organisations.
CREATE FUNCTION rag_access_version(subjects uuid[]) RETURNS bigint
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(bit_xor(mark), 0) FROM ragsite_private.access_mark
    WHERE subject = ANY(subjects || '00000000-0000-0000-0000-000000000000'::uuid)
$$;

-- Change the versions of whom a changed row concerns, each once in a transaction. What a row refers to may be deleted
-- already: then it concerns everybody.
CREATE FUNCTION rag_note_access_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    changed jsonb;
    concerned uuid;
BEGIN
    FOREACH changed IN ARRAY CASE TG_OP
        WHEN 'INSERT' THEN ARRAY[to_jsonb(NEW)]
        WHEN 'DELETE' THEN ARRAY[to_jsonb(OLD)]
        ELSE ARRAY[to_jsonb(OLD), to_jsonb(NEW)]
    END LOOP
        concerned := coalesce(
            CASE
                WHEN TG_TABLE_NAME = 'accounts_user' THEN changed ->> 'id'
                WHEN TG_TABLE_NAME IN ('orgs_membership', 'orgs_apikey', 'rag_grant') THEN changed ->> 'user_id'
                WHEN TG_TABLE_NAME IN ('orgs_role', 'orgs_team', 'rag_datasource') THEN changed ->> 'organization_id'
            END::uuid,
            (SELECT user_id FROM orgs_membership WHERE id = (changed ->> 'membership_id')::uuid),
            (SELECT organization_id FROM orgs_role WHERE id = (changed ->> 'role_id')::uuid),
            (SELECT organization_id FROM orgs_team WHERE id = (changed ->> 'team_id')::uuid),
            '00000000-0000-0000-0000-000000000000'
        );
        PERFORM FROM ragsite_private.access_mark
            WHERE subject = concerned AND changed_by = pg_current_xact_id() AND changed_at = transaction_timestamp();
        CONTINUE WHEN FOUND;
        WITH merged AS (
            DELETE FROM ragsite_private.access_mark WHERE id = ANY(ARRAY(
                SELECT id FROM ragsite_private.access_mark WHERE subject = concerned
                LIMIT 100 FOR UPDATE SKIP LOCKED
            )) RETURNING mark
        )
        INSERT INTO ragsite_private.access_mark (subject, mark)
        SELECT concerned, uuid_hash_extended(gen_random_uuid(), 0) # coalesce((SELECT bit_xor(mark) FROM merged), 0);
    END LOOP;
    RETURN NULL;
END $$;

-- The columns of each table that decide who may do what, or which vectors a search compares. The access list of a source
-- follows from the others and its grants.
DO $$
DECLARE
    name text;
    columns text[];
    is_changed text;
BEGIN
    FOR name, columns IN VALUES
        ('accounts_user', ARRAY['is_active', 'is_superuser']),
        ('orgs_organization', ARRAY['is_active']),
        ('orgs_membership', ARRAY['user_id', 'organization_id', 'is_active']),
        ('orgs_membership_roles', ARRAY['membership_id', 'role_id']),
        ('orgs_membership_teams', ARRAY['membership_id', 'team_id']),
        ('orgs_role', ARRAY['organization_id', 'permissions']),
        ('orgs_team', ARRAY['organization_id', 'parent_id']),
        ('orgs_apikey', ARRAY['user_id', 'organization_id', 'all_organizations', 'scopes', 'source_ids', 'expires_at',
            'revoked_at']),
        ('rag_grant', ARRAY['source_id', 'user_id', 'role_id', 'team_id', 'expires_at']),
        ('rag_datasource', ARRAY['organization_id', 'visibility', 'owner_id', 'deleted_at', 'embedding_model_id',
            'second_model_id', 'second_model_ready_at'])
    LOOP
        SELECT string_agg(format('OLD.%I IS DISTINCT FROM NEW.%I', c, c), ' OR ') INTO is_changed FROM unnest(columns) c;
        EXECUTE format('DROP TRIGGER access_version ON %I', name);
        EXECUTE format('CREATE TRIGGER access_version AFTER INSERT OR DELETE ON %I '
            'FOR EACH ROW EXECUTE FUNCTION rag_note_access_change()', name);
        EXECUTE format('CREATE TRIGGER access_version_update AFTER UPDATE ON %I '
            'FOR EACH ROW WHEN (%s) EXECUTE FUNCTION rag_note_access_change()', name, is_changed);
    END LOOP;
END $$;
DROP FUNCTION rag_change_access_version();
DROP TABLE ragsite_private.access_change;
