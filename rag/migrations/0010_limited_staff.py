"""Pages of the admin see the rows of their user's organisations only; access is checked faster."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0015_webhooks"), ("orgs", "0005_limited_staff")]

    operations = [migrations.RunSQL((SQL / name).read_text()) for name in ("staff_policies.sql", "faster_access.sql")]
