-- An API key acts in its own organisation only, unless it is for all organisations of its user.

-- The organisations in which the transaction's user is an active member; all organisations for a superuser. An API key
-- narrows them to its own organisation, unless it is for all.
CREATE OR REPLACE FUNCTION orgs_own_organizations() RETURNS uuid[]
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
    SELECT ARRAY(
        SELECT organization.id FROM ragsite_identity() AS identity
        JOIN accounts_user AS person ON person.id = identity.user_id AND person.is_active
        JOIN orgs_organization AS organization ON organization.is_active AND (
            person.is_superuser OR EXISTS (
                SELECT FROM orgs_membership AS membership
                WHERE membership.organization_id = organization.id AND membership.user_id = person.id
                AND membership.is_active
            )
        )
        WHERE identity.key_id IS NULL OR EXISTS (
            SELECT FROM orgs_apikey AS key WHERE key.id = identity.key_id
            AND (key.all_organizations OR key.organization_id = organization.id)
        )
    )
$$;

-- One row for each active membership of a user: what it permits, and what the API key narrows; only that in the key's
-- organisation, unless the key is for all. Without rows the user may do nothing. A role or team has an effect only in its own organisation; a parent team in another organisation is
-- ignored, together with the teams above it. UNION removes duplicates, so the recursion ends even if the rows contain a
-- cycle. Requests read the permissions of their own user, and those of other members in organisations whose sources
-- their user manages.
DROP FUNCTION orgs_effective_permissions(uuid, uuid);
CREATE FUNCTION orgs_effective_permissions(wanted_user uuid, wanted_key uuid)
RETURNS TABLE (organization uuid, roles uuid[], teams uuid[], permissions text[], scopes text[], sources uuid[],
    only_organization uuid)
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = public, pg_temp AS $$
#variable_conflict use_column
DECLARE
    managed uuid[];
    identity record;
BEGIN
    IF ragsite_is_request() THEN
        SELECT * INTO identity FROM ragsite_identity();
        IF identity.user_id IS NULL THEN
            RETURN;
        ELSIF identity.user_id <> wanted_user THEN
            IF NOT orgs_is_superuser() THEN
                managed := orgs_organizations_with('sources.manage');
            END IF;
        END IF;
    END IF;
    RETURN QUERY
    SELECT m.organization_id,
           ARRAY(SELECT r.id FROM orgs_membership_roles h JOIN orgs_role r ON r.id = h.role_id
                 WHERE h.membership_id = m.id AND r.organization_id = m.organization_id),
           ARRAY(WITH RECURSIVE joined AS (
                     SELECT t.id, t.parent_id FROM orgs_membership_teams j JOIN orgs_team t ON t.id = j.team_id
                     WHERE j.membership_id = m.id AND t.organization_id = m.organization_id
                     UNION
                     SELECT t.id, t.parent_id FROM joined JOIN orgs_team t ON t.id = joined.parent_id
                     WHERE t.organization_id = m.organization_id)
                 SELECT id FROM joined),
           ARRAY(SELECT unnest(r.permissions)::text FROM orgs_membership_roles h JOIN orgs_role r ON r.id = h.role_id
                 WHERE h.membership_id = m.id AND r.organization_id = m.organization_id),
           k.scopes::text[], k.source_ids, k.only_organization
    FROM orgs_membership m
    JOIN orgs_organization o ON o.id = m.organization_id
    JOIN accounts_user u ON u.id = m.user_id
    LEFT JOIN (SELECT k.user_id, k.scopes, k.source_ids,
                      CASE WHEN NOT k.all_organizations THEN k.organization_id END AS only_organization
               FROM orgs_apikey k
               JOIN orgs_membership km ON km.user_id = k.user_id AND km.organization_id = k.organization_id
               JOIN orgs_organization ko ON ko.id = k.organization_id
               WHERE k.id = wanted_key AND k.revoked_at IS NULL
                 AND (k.expires_at IS NULL OR k.expires_at > statement_timestamp())
                 AND km.is_active AND ko.is_active) k ON k.user_id = m.user_id
    WHERE m.user_id = wanted_user AND m.is_active AND o.is_active AND u.is_active
      AND (wanted_key IS NULL OR k.user_id IS NOT NULL)
      AND (k.only_organization IS NULL OR k.only_organization = m.organization_id)
      AND (managed IS NULL OR m.organization_id = ANY(managed));
END $$;
