-- Tables that concern the whole installation have no organisation, so no row-level security. Pages of the admin change
-- them only for superusers: SQL that somebody injects into the page of another user must not redirect the texts of all
-- organisations to another embedding model, or give Django's permissions.
CREATE FUNCTION ragsite_protect_installation() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF ragsite_is_limited_staff() THEN
        RAISE EXCEPTION 'Only superusers change what concerns the installation.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN coalesce(NEW, OLD);
END $$;

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY[
        'accounts_user_groups', 'accounts_user_user_permissions', 'auth_group', 'auth_group_permissions',
        'auth_permission', 'axes_accessattemptexpiration', 'django_content_type', 'django_migrations', 'rag_calibration',
        'rag_embeddingmodel', 'rag_ingestionfairness', 'rag_modeloutage'
    ] LOOP
        EXECUTE format(
            'CREATE TRIGGER protect_installation BEFORE INSERT OR UPDATE OR DELETE ON %I '
            'FOR EACH ROW EXECUTE FUNCTION ragsite_protect_installation()', name
        );
    END LOOP;
END $$;

-- An organisation does not decide itself how much of the installation it may use, nor whether it exists.
CREATE FUNCTION orgs_protect_limits() RETURNS trigger
LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
    IF ragsite_is_limited_staff() AND (
        TG_OP = 'DELETE'
        OR (NEW.id, NEW.slug, NEW.max_chunks, NEW.max_bytes, NEW.queries_per_minute, NEW.ingestions_per_minute,
            NEW.agent_requests_per_minute, NEW.service_searches_per_minute, NEW.deleted_at)
        IS DISTINCT FROM (OLD.id, OLD.slug, OLD.max_chunks, OLD.max_bytes, OLD.queries_per_minute,
            OLD.ingestions_per_minute, OLD.agent_requests_per_minute, OLD.service_searches_per_minute, OLD.deleted_at)
    ) THEN
        RAISE EXCEPTION 'Only superusers change the limits of an organisation.' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN coalesce(NEW, OLD);
END $$;
CREATE TRIGGER protect_limits BEFORE UPDATE OR DELETE ON orgs_organization
    FOR EACH ROW EXECUTE FUNCTION orgs_protect_limits();
