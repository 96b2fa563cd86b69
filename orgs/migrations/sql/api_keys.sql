-- The API key with this hash and its user. Only who knows a key can state its hash.
CREATE FUNCTION orgs_find_api_key(digest text, OUT key_id uuid, OUT user_id uuid)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT id, orgs_apikey.user_id FROM orgs_apikey WHERE hash = digest
$$;

-- The id of the service user with this address (orgs/services.py); null for the address of a person.
CREATE FUNCTION orgs_service_user_id(address text) RETURNS uuid
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT id FROM accounts_user WHERE email = address AND address ~ '^service@.*\.invalid$'
$$;
