"""Row-level security on every table whose rows belong to a data source or to a person (docs/architecture.md).

The policies state the access rule of `rag.services.access` a second time, in SQL; tests compare the two.
"""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql"


class Migration(migrations.Migration):
    dependencies = [
        ("rag", "0001_schema"),
        ("accounts", "0002_security"),
        ("orgs", "0002_security"),
    ]

    operations = [migrations.RunSQL((SQL / name).read_text()) for name in ("access.sql", "terms.sql", "policies.sql")]
