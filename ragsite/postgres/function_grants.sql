-- Who may call the functions that read more than their caller's role. Sign-in needs none of them. Applied after every
-- migration, after grants.sql.
DO $$
DECLARE
    roles CONSTANT text := 'ragsite_reader, ragsite_sign_in, ragsite_staff, ragsite_worker';
    database_owner CONSTANT text := current_user;
    name text;
    owner text;
BEGIN
    FOR name, owner IN
        SELECT oid::regprocedure::text, pg_get_userbyid(proowner) FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND proname ~ '^(rag|orgs)_' AND prorettype <> 'trigger'::regtype
    LOOP
        -- Some belong to the role of workers. A database owner who is no superuser changes no rights of those, and
        -- PostgreSQL only warns about it.
        EXECUTE format('SET LOCAL ROLE %I', owner);
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC, %s', name, roles);
        -- Functions of the database owner call those of workers.
        EXECUTE format(
            'GRANT EXECUTE ON FUNCTION %s TO ragsite_reader, ragsite_staff, ragsite_worker, %I', name, database_owner
        );
    END LOOP;
    EXECUTE format('SET LOCAL ROLE %I', database_owner);
END $$;
