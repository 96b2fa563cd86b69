"""The access rule in SQL: API keys act in their own organisation only, unless they are for all."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0004_history_usage_security"), ("orgs", "0004_key_organizations")]

    operations = [migrations.RunSQL((SQL / "key_organizations.sql").read_text())]
