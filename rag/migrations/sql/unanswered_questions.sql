-- Requests see and store questions of their own user, about sources that they may view. Pages of the admin see those
-- about sources of their user's organisations; rag.services.evaluation.unanswered decides which of them are shown.
ALTER TABLE rag_unansweredquestion ENABLE ROW LEVEL SECURITY;
ALTER TABLE rag_unansweredquestion FORCE ROW LEVEL SECURITY;
CREATE POLICY workers ON rag_unansweredquestion TO ragsite_staff, ragsite_worker USING (true);
CREATE POLICY staff ON rag_unansweredquestion AS RESTRICTIVE TO ragsite_staff
    USING ((SELECT orgs_is_unlimited_staff()) OR source_id IN (SELECT id FROM rag_datasource));
CREATE POLICY readers ON rag_unansweredquestion TO ragsite_reader
    USING (user_id = (SELECT user_id FROM ragsite_identity()))
    WITH CHECK (user_id = (SELECT user_id FROM ragsite_identity()) AND source_id IN (SELECT id FROM rag_datasource));
