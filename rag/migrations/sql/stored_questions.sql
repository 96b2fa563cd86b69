-- A question that is stored looks its source up by its key. With IN, PostgreSQL read all sources of the database for each.
ALTER POLICY readers ON rag_unansweredquestion
    USING (user_id = (SELECT user_id FROM ragsite_identity()))
    WITH CHECK (
        user_id = (SELECT user_id FROM ragsite_identity()) AND (SELECT true FROM rag_datasource WHERE id = source_id)
    );
