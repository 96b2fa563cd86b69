"""Documents that cannot be read fail in the request that submits them, which may then record the event."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "events_of_submissions.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0139_partial_scopes")]

    operations = [migrations.RunSQL(SQL.read_text())]
