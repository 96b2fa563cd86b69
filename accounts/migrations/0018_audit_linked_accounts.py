"""The audit trail's word for linked accounts. Only the choices change, so the table is not rewritten."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0017_signed_out_at")]

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
                    ("invitation", "invitation"),
                    ("api_key", "API key"),
                    ("source", "data source"),
                    ("grant", "grant"),
                    ("document", "document"),
                    ("reembedding", "re-embedding"),
                    ("golden_questions", "golden questions"),
                    ("webhook", "webhook"),
                    ("identity_provider", "identity provider"),
                    ("sign_in_domain", "sign-in domain"),
                    ("linked_identity", "linked account"),
                    ("group_mapping", "group mapping"),
                    ("scim_token", "SCIM token"),
                    ("person", "data of a person"),
                    ("audit_trail", "audit trail"),
                ],
                max_length=20,
                verbose_name="kind of object",
            ),
        ),
    ]
