-- Whoever activates an account ends what a directory had decided: if a superuser deactivates it afterwards, the directory
-- may not activate it. A trigger, so that no code that writes accounts can forget it.
CREATE FUNCTION accounts_forget_directory() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    NEW.deactivated_by_directory := NULL;
    RETURN NEW;
END $$;
CREATE TRIGGER forget_directory BEFORE UPDATE ON accounts_user FOR EACH ROW
    WHEN (NEW.is_active AND NEW.deactivated_by_directory IS NOT NULL) EXECUTE FUNCTION accounts_forget_directory();
