"""The audit action for explained searches. Only the choices change, so the table is not rewritten."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0002_security")]

    operations = [
        migrations.AlterField(
            model_name="auditevent",
            name="action",
            field=models.CharField(
                choices=[
                    ("signed_in", "signed in"),
                    ("sign_in_failed", "sign-in failed"),
                    ("signed_out", "signed out"),
                    ("created", "created"),
                    ("changed", "changed"),
                    ("deleted", "deleted"),
                    ("revoked", "revoked"),
                    ("refused", "refused"),
                    ("exported", "exported"),
                    ("explained", "explained a search"),
                ],
                max_length=15,
            ),
        ),
    ]
