"""Searches over all public sources of an organisation without a list of them, and term statistics of organisations."""

from pathlib import Path
from typing import Any

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

SQL = Path(__file__).parent / "sql"


def _total(name: str, column: str, field: Any) -> migrations.CreateModel:
    return migrations.CreateModel(
        name=name,
        fields=[
            (
                "pk",
                models.CompositePrimaryKey(
                    "organization_id", "visibility", column, blank=True, editable=False, primary_key=True,
                    serialize=False,
                ),
            ),
            ("visibility", models.CharField(max_length=8)),
            ("chunks", models.BigIntegerField()),
            (column, field),
            (
                "organization",
                models.ForeignKey(
                    db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING,
                    related_name="+", to="orgs.organization",
                ),
            ),
        ],
        options={"abstract": False},
    )  # fmt: skip


class Migration(migrations.Migration):
    dependencies = [("rag", "0014_operations"), ("orgs", "0004_key_organizations")]

    operations = [
        _total("OrganizationTerm", "term", models.IntegerField()),
        _total("OrganizationConfig", "config", models.CharField(max_length=20)),
        migrations.RemoveIndex("datasource", "source_public"),
        migrations.AddIndex(
            "datasource",
            models.Index(
                fields=["organization", "embedding_model", "second_model_ready_at"],
                condition=Q(deleted_at=None, visibility="public"),
                name="source_public",
            ),
        ),
        migrations.AddIndex(
            "datasource",
            models.Index(
                fields=["organization", "second_model"],
                condition=Q(deleted_at=None, visibility="public", second_model_ready_at__isnull=False),
                name="source_second_model",
            ),
        ),
        migrations.AddIndex(
            "datasource",
            models.Index(
                fields=["organization"],
                condition=Q(deleted_at=None) & ~Q(visibility="public"),
                name="source_not_public",
            ),
        ),
        migrations.AddIndex(
            "reembedding",
            models.Index(
                fields=["from_model", "switched_at"], condition=Q(state="switched"), name="reembedding_switched"
            ),
        ),
        *(migrations.RunSQL((SQL / name).read_text()) for name in ("organization_statistics.sql", "scopes.sql")),
    ]
