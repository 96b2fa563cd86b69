-- The organisations whose members' API keys the transaction's user may list and revoke. None with an API key: keys are
-- managed with an access token.
CREATE FUNCTION orgs_key_managing_organizations() RETURNS uuid[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT CASE
        WHEN (SELECT key_id FROM ragsite_identity()) IS NOT NULL THEN '{}'
        WHEN orgs_is_superuser() THEN orgs_own_organizations()
        ELSE orgs_organizations_with('members.manage')
    END
$$;

-- Updates only end a key (orgs_protect_api_key).
DO $$
DECLARE
    own_or_managed CONSTANT text := 'user_id = (SELECT user_id FROM ragsite_identity()) '
        'OR organization_id = ANY((SELECT orgs_key_managing_organizations())::uuid[])';
BEGIN
    EXECUTE format('ALTER POLICY readers_select ON orgs_apikey USING (%s)', own_or_managed);
    EXECUTE format('ALTER POLICY readers_update ON orgs_apikey USING (%s)', own_or_managed);
END $$;
