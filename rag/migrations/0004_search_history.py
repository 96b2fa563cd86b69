"""Searches that can be asked for again by their id."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import ragsite.postgres.models


class Migration(migrations.Migration):
    dependencies = [
        ("rag", "0003_content_type_filter"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SearchRecord",
            fields=[
                ("id", models.UUIDField(default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False)),
                ("text", models.TextField()),
                ("results", models.JSONField(default=list)),
                ("time_ms", models.FloatField()),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="searches",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={"ordering": ("-id",)},
        ),
    ]
