"""Pages of the admin see accounts, members, roles and API keys of their user's organisations only."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql"


class Migration(migrations.Migration):
    dependencies = [("orgs", "0005_limited_staff"), ("accounts", "0010_hidden_password")]

    operations = [
        migrations.AlterModelOptions(name="apikey", options={"ordering": ("-id",), "verbose_name": "API key"}),
        migrations.RunSQL((SQL / "staff_directory.sql").read_text()),
    ]
