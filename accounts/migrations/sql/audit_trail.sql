-- The audit trail is append-only. Two changes are allowed: deleting an event of more than 90 days ago, and replacing the
-- name and address of a deleted account with its pseudonym. The search path is fixed so that the functions read the
-- accounts table and not a temporary table of the same name.
CREATE FUNCTION accounts_auditevent_kept() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    rest accounts_auditevent;
BEGIN
    IF TG_OP = 'DELETE' AND OLD.at < now() - interval '90 days' THEN
        RETURN OLD;
    ELSIF TG_OP = 'UPDATE' THEN
        rest := NEW;
        rest.actor_email := OLD.actor_email;
        rest.address := OLD.address;
        rest.subject_email := OLD.subject_email;
        IF rest IS NOT DISTINCT FROM OLD
            AND (
                (NEW.actor_email = OLD.actor_email AND NEW.address IS NOT DISTINCT FROM OLD.address)
                OR (NEW.actor_email = accounts_auditevent_pseudonym(OLD.actor_id) AND NEW.address IS NULL)
            )
            AND NEW.subject_email IN (OLD.subject_email, accounts_auditevent_pseudonym(OLD.subject_id))
        THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'Audit events are only added: % is refused.', TG_OP USING ERRCODE = 'insufficient_privilege';
END $$;

-- The pseudonym of a deleted account. Null while the account exists, and for events without an account.
CREATE FUNCTION accounts_auditevent_pseudonym(account uuid) RETURNS text STABLE LANGUAGE sql AS $$
    SELECT 'deleted user ' || left(encode(sha256(convert_to(account::text, 'UTF8')), 'hex'), 8)
    WHERE NOT EXISTS (SELECT 1 FROM accounts_user WHERE id = account)
$$;

DO $$ BEGIN
    EXECUTE format('ALTER FUNCTION accounts_auditevent_kept() SET search_path = %I, pg_temp', current_schema());
    EXECUTE format(
        'ALTER FUNCTION accounts_auditevent_pseudonym(uuid) SET search_path = %I, pg_temp', current_schema()
    );
END $$;

CREATE TRIGGER audit_kept BEFORE UPDATE OR DELETE ON accounts_auditevent
    FOR EACH ROW EXECUTE FUNCTION accounts_auditevent_kept();
CREATE TRIGGER audit_not_emptied BEFORE TRUNCATE ON accounts_auditevent
    FOR EACH STATEMENT EXECUTE FUNCTION accounts_auditevent_kept();
