"""Only superusers change the tables of the installation on pages of the admin."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "installation_tables.sql"


class Migration(migrations.Migration):
    dependencies = [
        ("rag", "0103_access_version_by_subject"),
        ("axes", "0010_accessattemptexpiration"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("contenttypes", "0002_remove_content_type_name"),
    ]

    operations = [migrations.RunSQL(SQL.read_text())]
