-- The tables of an earlier library held refresh tokens in clear text. Only the ids of valid tokens are kept, so that
-- nobody has to sign in again. A new database does not have the tables.
DO $$ BEGIN
    IF to_regclass('token_blacklist_outstandingtoken') IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO accounts_tokenfamily (id, user_id, newest_token, created_at, expires_at)
        SELECT jti::uuid, user_id, jti::uuid, coalesce(created_at, now()), expires_at
        FROM token_blacklist_outstandingtoken AS token
        WHERE user_id IS NOT NULL AND expires_at > now()
        AND NOT EXISTS (SELECT FROM token_blacklist_blacklistedtoken WHERE token_id = token.id);
    DROP TABLE token_blacklist_blacklistedtoken, token_blacklist_outstandingtoken;
END $$;
