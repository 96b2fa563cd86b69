"""Row-level security on the counters of the stored history: requests see their own user's only."""

from django.db import migrations

POLICIES = """
ALTER TABLE rag_historyusage ENABLE ROW LEVEL SECURITY;
ALTER TABLE rag_historyusage FORCE ROW LEVEL SECURITY;
CREATE POLICY workers ON rag_historyusage TO ragsite_staff, ragsite_worker USING (true);
CREATE POLICY readers ON rag_historyusage TO ragsite_reader
    USING (user_id = (SELECT user_id FROM ragsite_identity()));
"""


class Migration(migrations.Migration):
    dependencies = [("rag", "0003_history_usage")]

    operations = [migrations.RunSQL(POLICIES)]
