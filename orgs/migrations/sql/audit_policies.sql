-- Who may add and read audit events. Requests add events in the name of their own caller only, at the present time, so
-- that injected SQL cannot put an act into somebody else's name. The event of a change in an organisation can be added
-- only by who belongs to it. Pages of the admin read the events of their user's organisations and of the
-- user; superusers read all.
ALTER TABLE accounts_auditevent ENABLE ROW LEVEL SECURITY;
CREATE POLICY sign_in ON accounts_auditevent FOR INSERT TO ragsite_sign_in WITH CHECK (true);
CREATE POLICY workers ON accounts_auditevent TO ragsite_worker USING (true);
CREATE POLICY readers ON accounts_auditevent FOR INSERT TO ragsite_reader WITH CHECK (
    actor_id = (SELECT user_id FROM ragsite_identity())
    AND at BETWEEN clock_timestamp() - interval '5 minutes' AND clock_timestamp() + interval '5 minutes'
    AND (organization_id IS NULL OR organization_id = ANY((SELECT orgs_own_organizations())::uuid[]))
);
CREATE POLICY staff ON accounts_auditevent TO ragsite_staff
    USING (
        (SELECT orgs_is_unlimited_staff()) OR organization_id = ANY((SELECT orgs_own_organizations())::uuid[])
        OR (SELECT user_id FROM ragsite_identity()) IN (actor_id, subject_id)
    )
    WITH CHECK (
        (SELECT action = 'all' FROM ragsite_identity()) OR actor_id = (SELECT user_id FROM ragsite_identity())
        OR (SELECT orgs_is_unlimited_staff())
    );
