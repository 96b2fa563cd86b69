-- Narrows the rights that the application's roles have on the audit trail: requests only add events; workers and the
-- admin also read them and replace the names of deleted accounts. Run this again after granting rights on all tables.
DO $$ BEGIN
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'ragsite_reader') THEN
        REVOKE ALL ON accounts_auditevent FROM ragsite_reader;
        GRANT INSERT ON accounts_auditevent TO ragsite_reader;
    END IF;
    IF EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'ragsite_worker') THEN
        REVOKE ALL ON accounts_auditevent FROM ragsite_worker;
        GRANT INSERT, SELECT, UPDATE (actor_email, address, subject_email) ON accounts_auditevent TO ragsite_worker;
    END IF;
END $$;
