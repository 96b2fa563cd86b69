"""The organisation whose directory has deactivated an account, which no other change of the account leaves in place."""

from pathlib import Path

from django.db import migrations, models

SQL = Path(__file__).parent / "sql" / "deactivated_by_directory.sql"


class Migration(migrations.Migration):
    dependencies = [("accounts", "0012_audit_invitations")]

    operations = [
        migrations.AddField(
            model_name="user",
            name="deactivated_by_directory",
            field=models.UUIDField(editable=False, null=True),
        ),
        migrations.RunSQL(SQL.read_text()),
    ]
