"""API keys act in their own organisation only, unless they are for all. Existing keys keep what they may do."""

from pathlib import Path

from django.db import migrations, models

SQL = Path(__file__).parent / "sql"


class Migration(migrations.Migration):
    dependencies = [("orgs", "0003_base_manager")]

    operations = [
        migrations.AddField(
            model_name="apikey",
            name="all_organizations",
            field=models.BooleanField(default=True, verbose_name="all organisations"),
        ),
        migrations.AlterField(
            model_name="apikey",
            name="all_organizations",
            field=models.BooleanField(default=False, verbose_name="all organisations"),
        ),
        migrations.RunSQL((SQL / "key_organizations.sql").read_text()),
    ]
