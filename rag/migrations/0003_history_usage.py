"""Counters of the stored history. The nightly deletion of old histories counts what was stored before."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("rag", "0002_security"),
    ]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="bytes",
            field=models.BigIntegerField(default=0, editable=False),
        ),
        migrations.CreateModel(
            name="HistoryUsage",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="history_usage",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("bytes", models.BigIntegerField(default=0)),
                ("searches", models.PositiveIntegerField(default=0)),
            ],
            options={"verbose_name_plural": "history usage"},
        ),
    ]
