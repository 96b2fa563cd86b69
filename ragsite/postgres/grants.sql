-- What each role may do, besides row-level security. Applied after every migration, so that it covers new tables. Text
-- for one transaction: requests that run meanwhile see either the grants before or those after.
DO $$
DECLARE
    roles CONSTANT text := 'ragsite_reader, ragsite_sign_in, ragsite_staff, ragsite_worker';
    -- Passwords, sessions, second factors, refresh tokens, clients and codes of OAuth, failed sign-ins, invitations and
    -- identity providers: for sign-in and the admin only.
    credential_tables CONSTANT text[] := ARRAY(
        SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'
        AND tablename ~ '^(django_session|django_admin_log|otp_|axes_|accounts_(tokenfamily|oauth)|orgs_(identityprovider|signindomain|groupmapping|linkedidentity|usedassertion|scim|invitation))'
    );
    -- Requests only read who may do what. They change it in the admin.
    read_only_tables CONSTANT text[] := ARRAY[
        'accounts_user', 'accounts_user_groups', 'accounts_user_user_permissions', 'auth_group',
        'auth_group_permissions', 'auth_permission', 'django_content_type', 'django_migrations', 'orgs_membership',
        'orgs_membership_roles', 'orgs_membership_teams', 'orgs_organization', 'orgs_role', 'orgs_team',
        'rag_calibration', 'rag_embeddingmodel', 'rag_ingestionfairness', 'rag_modeloutage'
    ];
    -- Columns that neither requests nor pages of the admin read.
    secret_columns CONSTANT text[] := ARRAY[
        'accounts_user.password', 'orgs_apikey.hash', 'otp_static_statictoken.token', 'otp_totp_totpdevice.key',
        'orgs_identityprovider.client_secret', 'orgs_scimtoken.hash', 'rag_webhook.secret', 'rag_webhook.old_secret',
        'rag_syncconnection.secret', 'accounts_oauthcode.hash'
    ];
    name text;
    readable text;
BEGIN
    EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA public FROM %s', roles);
    -- Identity columns need no right to their sequences. With it, numbers could be used up, which no rollback undoes.
    EXECUTE format('REVOKE ALL ON ALL SEQUENCES IN SCHEMA public FROM %s', roles);
    GRANT SELECT ON ALL SEQUENCES IN SCHEMA public TO ragsite_worker;  -- backups
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ragsite_worker;
    GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO ragsite_staff;

    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
        SELECT string_agg(format('%I', attname), ', ') INTO readable FROM pg_attribute
            WHERE attrelid = format('public.%I', name)::regclass AND attnum > 0 AND NOT attisdropped
            AND format('%s.%s', name, attname) <> ALL(secret_columns);
        EXECUTE format('GRANT SELECT (%s) ON %I TO ragsite_staff', readable, name);
        CONTINUE WHEN name = ANY(credential_tables) OR name = 'accounts_auditevent';
        EXECUTE format('GRANT SELECT (%s) ON %I TO ragsite_reader', readable, name);
        IF name <> ALL(read_only_tables) THEN
            EXECUTE format('GRANT INSERT, UPDATE, DELETE ON %I TO ragsite_reader', name);
        END IF;
    END LOOP;

    FOREACH name IN ARRAY credential_tables || ARRAY['accounts_user', 'orgs_apikey'] LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO ragsite_sign_in', name);
    END LOOP;
    -- A session's key is a credential of its user. Only sign-in uses sessions, workers delete expired ones. Second
    -- factors are set up as sign-in too; the admin removes them together with their accounts. It creates no API key.
    REVOKE ALL ON django_session FROM ragsite_staff;
    REVOKE INSERT, UPDATE ON otp_static_staticdevice, otp_static_statictoken, otp_totp_totpdevice FROM ragsite_staff;
    REVOKE INSERT ON orgs_apikey FROM ragsite_staff;
    -- Whoever writes an authorization code is the user whom it names.
    REVOKE INSERT, UPDATE ON accounts_oauthclient, accounts_oauthcode, accounts_tokenfamily FROM ragsite_staff;
    FOREACH name IN ARRAY read_only_tables LOOP
        EXECUTE format('GRANT SELECT ON %I TO ragsite_sign_in', name);
    END LOOP;

    -- Backups are made as the worker.
    GRANT USAGE ON SCHEMA ragsite_private TO ragsite_worker;
    GRANT SELECT ON ALL TABLES IN SCHEMA ragsite_private TO ragsite_worker;

    -- The audit trail: requests only add events; workers and the admin also read them and replace the names of deleted
    -- accounts.
    REVOKE ALL ON accounts_auditevent FROM ragsite_staff, ragsite_worker;
    GRANT INSERT ON accounts_auditevent TO ragsite_reader, ragsite_sign_in, ragsite_staff, ragsite_worker;
    GRANT SELECT, UPDATE (actor_email, address, subject_email) ON accounts_auditevent TO ragsite_staff, ragsite_worker;
END $$;
