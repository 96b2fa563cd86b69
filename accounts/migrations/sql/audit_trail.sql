-- The audit trail is append-only. Two changes are allowed: deleting an event that is older than 90 days, and replacing
-- the name and address of a deleted account with its pseudonym. The search path is fixed so that the functions read the
-- accounts table and not a temporary table of the same name.
CREATE FUNCTION accounts_protect_audit_events() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    other_columns accounts_auditevent;
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < now() - interval '90 days' THEN
        RETURN OLD;
    ELSIF TG_OP = 'UPDATE' THEN
        other_columns := NEW;
        other_columns.actor_email := OLD.actor_email;
        other_columns.address := OLD.address;
        other_columns.subject_email := OLD.subject_email;
        IF other_columns IS NOT DISTINCT FROM OLD
            AND (
                (NEW.actor_email = OLD.actor_email AND NEW.address IS NOT DISTINCT FROM OLD.address)
                OR (NEW.actor_email = accounts_audit_pseudonym(OLD.actor_id) AND NEW.address IS NULL)
            )
            AND NEW.subject_email IN (OLD.subject_email, accounts_audit_pseudonym(OLD.subject_id))
        THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'The audit trail is append-only: % is refused.', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;

-- The pseudonym of a deleted account. Null while the account exists, and for events without an account.
CREATE FUNCTION accounts_audit_pseudonym(account uuid) RETURNS text STABLE LANGUAGE sql AS $$
    SELECT 'deleted user ' || left(encode(sha256(convert_to(account::text, 'UTF8')), 'hex'), 8)
    WHERE NOT EXISTS (SELECT 1 FROM accounts_user WHERE id = account)
$$;

DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION accounts_protect_audit_events() SET search_path = %I, pg_temp', current_schema());
    EXECUTE format(
        'ALTER FUNCTION accounts_audit_pseudonym(uuid) SET search_path = %I, pg_temp', current_schema()
    );
END $$;

CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE ON accounts_auditevent
    FOR EACH ROW EXECUTE FUNCTION accounts_protect_audit_events();
CREATE TRIGGER audit_events_no_truncate BEFORE TRUNCATE ON accounts_auditevent
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_protect_audit_events();
