"""Events are recorded only for webhooks that exist when the transaction ends."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "recorded_events.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0129_own_grants")]

    operations = [migrations.RunSQL(SQL.read_text())]
