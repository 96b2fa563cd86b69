-- Whoever migrates owns the tables and becomes these roles; if that is no superuser, it needs CREATEROLE, or somebody
-- makes the roles beforehand (docs/operations/install.md). Roles are the whole cluster's: another database may have made them.
DO $$
DECLARE name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['ragsite_reader', 'ragsite_worker'] LOOP
        BEGIN
            IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
                EXECUTE format('CREATE ROLE %I NOLOGIN', name);
            END IF;
        EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL;  -- at this very moment
        END;
        IF NOT pg_has_role(current_user, name, 'SET') THEN
            EXECUTE format('GRANT %I TO CURRENT_USER WITH INHERIT FALSE', name);
        END IF;
    END LOOP;
END $$;

GRANT USAGE ON SCHEMA public TO ragsite_reader, ragsite_worker;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ragsite_reader, ragsite_worker;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO ragsite_reader, ragsite_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ragsite_reader, ragsite_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO ragsite_reader, ragsite_worker;
