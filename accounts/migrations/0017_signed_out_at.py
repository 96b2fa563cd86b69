"""When all sign-ins of an account ended at once."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0016_oauth")]

    operations = [
        migrations.AddField(
            model_name="user", name="signed_out_at", field=models.DateTimeField(editable=False, null=True)
        ),
    ]
