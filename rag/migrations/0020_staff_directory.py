"""Pages of the admin see the accounts that their sources name, and search in their user's organisations only."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0012_risk_coverage"), ("orgs", "0008_staff_directory")]

    operations = [
        migrations.AlterModelOptions(name="webhook", options={"ordering": ("-id",)}),
        migrations.RunSQL((SQL / "staff_directory.sql").read_text()),
    ]
