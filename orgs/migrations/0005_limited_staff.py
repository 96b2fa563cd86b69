"""Policies of the admin's role and of audit events; administrators see and end the API keys of their members."""

from pathlib import Path

from django.db import migrations

SQL = Path(__file__).parent / "sql"
_FILES = ("staff_policies.sql", "managed_keys.sql", "audit_policies.sql")


class Migration(migrations.Migration):
    dependencies = [
        ("orgs", "0004_key_organizations"),
        ("accounts", "0005_token_families"),
        ("admin", "0003_logentry_add_action_flag_choices"),
        ("axes", "0010_accessattemptexpiration"),
        ("otp_static", "0003_add_timestamps"),
        ("otp_totp", "0003_add_timestamps"),
    ]

    operations = [migrations.RunSQL((SQL / name).read_text()) for name in _FILES]
