"""Checking a member's grants takes no longer in organisations with many members."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "own_grants.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0128_far_questions")]

    operations = [migrations.RunSQL(SQL.read_text())]
