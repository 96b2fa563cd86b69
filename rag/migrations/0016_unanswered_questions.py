"""Questions that were not answered well, with row-level security."""

from pathlib import Path

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

import ragsite.postgres.models

SQL = Path(__file__).parent / "sql" / "unanswered_questions.sql"


class Migration(migrations.Migration):
    dependencies = [
        ("rag", "0020_staff_directory"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="UnansweredQuestion",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("answer_id", models.UUIDField(null=True)),
                ("question", models.CharField(max_length=2000)),
                (
                    "reason",
                    models.CharField(
                        choices=[
                            ("declined", "not answered"),
                            ("low", "answered with low confidence"),
                            ("disliked", "the answer was not helpful"),
                        ],
                        max_length=10,
                    ),
                ),
                ("confidence", models.FloatField()),
                ("document_id", models.UUIDField()),
                (
                    "searched_sources",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None),
                ),
                (
                    "searched_organizations",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None),
                ),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "conversation",
                    models.ForeignKey(
                        null=True, on_delete=django.db.models.deletion.CASCADE, related_name="+", to="rag.conversation"
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="unanswered_questions",
                        to="rag.datasource",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="unanswered_questions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ("-id",),
                "indexes": [models.Index(fields=["source", "-id"], name="unanswered_of_source")],
            },
        ),
        migrations.RunSQL(SQL.read_text()),
    ]
