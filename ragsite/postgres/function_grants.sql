-- Who may call the functions that read more than their caller's role. Sign-in needs none of them, and only the owner of
-- the tables makes triggers: one on a temporary table would write what its caller wants. Applied after every migration,
-- after grants.sql.
DO $$
DECLARE
    roles CONSTANT text := 'ragsite_reader, ragsite_sign_in, ragsite_staff, ragsite_worker';
    database_owner CONSTANT text := current_user;
    name text;
    owner text;
    is_called boolean;
BEGIN
    FOR name, owner, is_called IN
        SELECT oid::regprocedure::text, pg_get_userbyid(proowner), prorettype <> 'trigger'::regtype FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND proname ~ '^(rag|orgs)_'
    LOOP
        -- Some belong to the role of workers. A database owner who is no superuser changes no rights of those, and
        -- PostgreSQL only warns about it.
        EXECUTE format('SET LOCAL ROLE %I', owner);
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC, %s', name, roles);
        -- Functions of the database owner call those of workers.
        EXECUTE format(
            'GRANT EXECUTE ON FUNCTION %s TO %s %I', name,
            CASE WHEN is_called THEN 'ragsite_reader, ragsite_staff, ragsite_worker,' ELSE '' END, database_owner
        );
    END LOOP;
    EXECUTE format('SET LOCAL ROLE %I', database_owner);
END $$;
