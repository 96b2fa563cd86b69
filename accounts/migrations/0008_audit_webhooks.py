"""The audit trail's kind of object for webhooks. Only the choices change, so the table is not rewritten."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0005_token_families")]

    operations = [
        migrations.AlterField(
            model_name="auditevent",
            name="kind",
            field=models.CharField(
                choices=[
                    ("user", "user"),
                    ("organization", "organisation"),
                    ("membership", "membership"),
                    ("role", "role"),
                    ("team", "team"),
                    ("api_key", "API key"),
                    ("source", "data source"),
                    ("grant", "grant"),
                    ("document", "document"),
                    ("reembedding", "re-embedding"),
                    ("golden_questions", "golden questions"),
                    ("webhook", "webhook"),
                    ("person", "data of a person"),
                    ("audit_trail", "audit trail"),
                ],
                max_length=20,
                verbose_name="kind of object",
            ),
        ),
    ]
