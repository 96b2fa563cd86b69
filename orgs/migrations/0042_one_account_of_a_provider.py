"""An account here belongs to one account of a provider: the first one that signed in to it."""

from django.db import migrations, models

# A later link may be of somebody who got the address of the person before them. Their next sign-in is refused until an
# administrator has unlinked the first one.
KEEP_THE_FIRST = """
    DELETE FROM orgs_linkedidentity AS later USING orgs_linkedidentity AS first
    WHERE later.provider_id = first.provider_id AND later.user_id = first.user_id
      AND (later.created_at, later.id) > (first.created_at, first.id)
"""


class Migration(migrations.Migration):
    dependencies = [("orgs", "0041_saml")]

    operations = [
        migrations.RunSQL(KEEP_THE_FIRST, migrations.RunSQL.noop),
        migrations.AlterModelOptions(
            name="linkedidentity", options={"ordering": ("-pk",), "verbose_name": "linked account"}
        ),
        migrations.AlterField(
            model_name="linkedidentity",
            name="created_at",
            field=models.DateTimeField(auto_now_add=True, verbose_name="since"),
        ),
        migrations.AlterField(
            model_name="linkedidentity",
            name="subject",
            field=models.CharField(max_length=255, verbose_name="identifier at the provider"),
        ),
        migrations.AddConstraint(
            model_name="linkedidentity",
            constraint=models.UniqueConstraint(fields=["provider", "user"], name="one_account_of_a_provider"),
        ),
    ]
