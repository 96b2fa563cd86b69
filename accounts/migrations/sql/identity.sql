-- The identity of a transaction (ragsite/postgres/identity.py). The application signs it with a key that only the owner
-- of this schema can read, so that SQL which a client has injected can neither forge one nor use another caller's.
CREATE SCHEMA ragsite_private;
REVOKE ALL ON SCHEMA ragsite_private FROM PUBLIC;

-- One row: the key of HMAC-SHA-256 in the two forms that RFC 2104 uses. `manage.py migrate` writes it.
CREATE TABLE ragsite_private.identity_key (
    is_only_row boolean PRIMARY KEY DEFAULT true CHECK (is_only_row),
    inner_pad bytea NOT NULL,
    outer_pad bytea NOT NULL
);

-- Who acts in this transaction, with which API key, and for which action. All NULL if nobody has signed in.
-- rag.identity contains user|key|action|expiry|process id|signature. The process id binds it to this connection.
CREATE FUNCTION ragsite_identity(OUT user_id uuid, OUT key_id uuid, OUT action text)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    stated CONSTANT text := current_setting('rag.identity', true);
    parts CONSTANT text[] := string_to_array(stated, '|');
    message CONSTANT bytea := convert_to(array_to_string(parts[1:5], '|'), 'UTF8');
    signature text;
BEGIN
    IF coalesce(stated, '') = '' THEN
        RETURN;
    END IF;
    SELECT encode(sha256(outer_pad || sha256(inner_pad || message)), 'hex') INTO signature
        FROM ragsite_private.identity_key;
    IF cardinality(parts) <> 6 OR signature IS NULL OR parts[6] <> signature OR parts[5] <> pg_backend_pid()::text
        OR to_timestamp(parts[4]::bigint) < clock_timestamp()
    THEN
        RAISE EXCEPTION 'The identity of this transaction is not valid.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    user_id := nullif(parts[1], '');
    key_id := nullif(parts[2], '');
    action := parts[3];
END $$;

-- Whether the current statement was sent by the role of requests. Inside of a SECURITY DEFINER function current_user is
-- the function's owner.
CREATE FUNCTION ragsite_is_request() RETURNS boolean
LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT coalesce(nullif(current_setting('role'), 'none'), session_user) = 'ragsite_reader'
$$;
