"""A version of what decides access for each user and organisation, in place of one for all."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql" / "access_versions.sql"


class Migration(migrations.Migration):
    dependencies = [("rag", "0060_access_version"), ("orgs", "0041_saml"), ("accounts", "0017_signed_out_at")]

    operations = [migrations.RunSQL(SQL.read_text())]
