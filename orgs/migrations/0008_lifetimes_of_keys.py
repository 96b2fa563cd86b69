from django.db import migrations, models
from django.db.models import F


def told_by_their_ends(apps, schema_editor):
    keys = apps.get_model("orgs", "ApiKey").objects.exclude(expires_at=None)
    keys.update(lifetime=F("expires_at") - F("created_at"))


class Migration(migrations.Migration):
    dependencies = [("orgs", "0007_nested_teams_and_narrower_keys")]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="lifetime",
            field=models.DurationField(blank=True, editable=False, null=True),
        ),
        migrations.RunPython(told_by_their_ends, migrations.RunPython.noop),
    ]
