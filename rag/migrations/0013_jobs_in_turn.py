"""The order in which workers take documents, models that do not answer, and inputs that are kept for a retry."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models
from django.db.models import Q

_SOURCE = {
    "on_delete": django.db.models.deletion.DO_NOTHING,
    "related_name": "+",
    "db_index": False,
    "db_constraint": False,
    "editable": False,
    "to": "rag.datasource",
}


def index(name: str, *fields: str, condition: Q, model: str = "ingestiondocument") -> migrations.AddIndex:
    return migrations.AddIndex(model, models.Index(fields=fields, name=name, condition=condition))


class Migration(migrations.Migration):
    dependencies = [("orgs", "0006_byte_quota"), ("rag", "0012_usage_and_deleted_documents")]

    operations = [
        migrations.CreateModel(
            "IngestionTurn",
            [
                (
                    "organization",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="orgs.organization",
                    ),
                ),
                ("served_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            "ModelOutage",
            [
                (
                    "model",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="rag.embeddingmodel",
                    ),
                ),
                ("since", models.DateTimeField()),
                ("until", models.DateTimeField()),
                ("tries", models.PositiveIntegerField(default=1)),
                ("probe", models.UUIDField(null=True)),
            ],
        ),
        migrations.AddField("ingestiondocument", "queued_at", models.DateTimeField(default=django.utils.timezone.now)),
        migrations.AddField("ingestiondocument", "source", models.ForeignKey(null=True, **_SOURCE)),
        migrations.RunSQL(
            "UPDATE rag_ingestiondocument AS document SET source_id = job.source_id"
            " FROM rag_ingestionjob AS job WHERE job.id = document.job_id",
            migrations.RunSQL.noop,
        ),
        migrations.AlterField("ingestiondocument", "source", models.ForeignKey(**_SOURCE)),
        migrations.AlterField(
            "ingestiondocument",
            "text",
            models.TextField(help_text="Emptied once it is done or cancelled; where it failed, after a while."),
        ),
        migrations.RemoveIndex("ingestiondocument", "open_work"),
        index("work_to_take", "source", "id", condition=Q(state="queued", due_at=None)),
        index("work_postponed", "due_at", condition=Q(state="queued", due_at__isnull=False)),
        index("work_in_hand", "due_at", condition=Q(state="running")),
        index(
            "inputs_kept",
            "finished_at",
            condition=Q(finished_at__isnull=False) & (~Q(text="") | Q(original__isnull=False)),
        ),
        index("open_jobs", "id", condition=Q(status__in=["queued", "processing"]), model="ingestionjob"),
    ]
