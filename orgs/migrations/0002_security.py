"""Row-level security of people, organisations and API keys, and the functions through which requests read more."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql"


class Migration(migrations.Migration):
    dependencies = [("orgs", "0001_schema"), ("accounts", "0002_security")]

    operations = [
        migrations.RunSQL((SQL / name).read_text()) for name in ("access.sql", "policies.sql", "api_keys.sql")
    ]
