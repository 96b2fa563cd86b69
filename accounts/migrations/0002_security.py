"""The application's database roles, and the append-only audit trail."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql"


class Migration(migrations.Migration):
    dependencies = [("accounts", "0001_schema")]

    operations = [
        migrations.RunSQL((SQL / name).read_text()) for name in ("roles.sql", "identity.sql", "audit_trail.sql")
    ]
