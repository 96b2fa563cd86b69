"""Where a SAML provider expects responses to its sign-outs."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("orgs", "0042_one_account_of_a_provider")]

    operations = [
        migrations.AddField(
            model_name="identityprovider",
            name="sign_out_response_url",
            field=models.CharField(blank=True, db_default="", default="", editable=False, max_length=500),
        ),
    ]
