-- The database roles of the application. The role that migrates owns the tables and may switch to these. If it is not a
-- superuser it needs CREATEROLE, or an administrator creates the roles first (docs/operations/install.md). Roles belong
-- to the whole cluster: another database of it may have created them. What each may do: ragsite/postgres/grants.sql.
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['ragsite_reader', 'ragsite_sign_in', 'ragsite_staff', 'ragsite_worker'] LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
                EXECUTE format('CREATE ROLE %I NOLOGIN', name);
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;  -- created concurrently
        END;
        IF NOT pg_has_role(current_user, name, 'SET') THEN
            EXECUTE format('GRANT %I TO CURRENT_USER WITH INHERIT FALSE', name);
        END IF;
    END LOOP;
END $$;

GRANT USAGE ON SCHEMA public TO ragsite_reader, ragsite_sign_in, ragsite_staff, ragsite_worker;
