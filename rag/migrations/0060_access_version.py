"""A version of everything that decides access, which read replicas must have."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "access_version.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0050_job_names"), ("orgs", "0041_saml"), ("accounts", "0017_signed_out_at")]

    operations = [migrations.RunSQL(SQL.read_text())]
