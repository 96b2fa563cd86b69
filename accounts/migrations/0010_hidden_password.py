"""Passwords are left out by their field (ragsite.postgres.credential_fields) and not by the manager."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0008_audit_webhooks")]

    operations = [migrations.AlterModelOptions(name="user", options={"ordering": ("email",)})]
