ALTER DEFAULT PRIVILEGES IN SCHEMA public
    REVOKE SELECT, INSERT, UPDATE, DELETE ON TABLES FROM ragsite_reader, ragsite_worker;
ALTER DEFAULT PRIVILEGES IN SCHEMA public REVOKE USAGE, SELECT ON SEQUENCES FROM ragsite_reader, ragsite_worker;
REVOKE ALL ON ALL TABLES IN SCHEMA public FROM ragsite_reader, ragsite_worker;
REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM ragsite_reader, ragsite_worker;
REVOKE USAGE ON SCHEMA public FROM ragsite_reader, ragsite_worker;
