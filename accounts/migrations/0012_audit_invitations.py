"""The audit trail's words for invitations. Only the choices change, so the table is not rewritten."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0009_audit_single_sign_on")]

    operations = [
        migrations.AlterField(
            model_name="auditevent",
            name="action",
            field=models.CharField(
                choices=[
                    ("signed_in", "signed in"),
                    ("sign_in_failed", "sign-in failed"),
                    ("signed_out", "signed out"),
                    ("token_reused", "token reused"),
                    ("created", "created"),
                    ("changed", "changed"),
                    ("accepted", "accepted"),
                    ("deleted", "deleted"),
                    ("revoked", "revoked"),
                    ("refused", "refused"),
                    ("exported", "exported"),
                    ("explained", "explained a search"),
                ],
                max_length=15,
            ),
        ),
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
