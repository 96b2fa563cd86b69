"""Access lists: sources with the same audience share one, so that a search does not depend on the number of sources."""

from pathlib import Path
from typing import Any

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

import ragsite.postgres.models

SQL = Path(__file__).parent / "sql"


def _total(name: str, column: str, field: Any) -> migrations.CreateModel:
    references = {
        name: models.ForeignKey(
            db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name="+",
            to=to,
        )
        for name, to in (("organization", "orgs.organization"), ("access_list", "rag.accesslist"))
    }  # fmt: skip
    key = models.CompositePrimaryKey(
        "access_list_id", column, blank=True, editable=False, primary_key=True, serialize=False
    )
    return migrations.CreateModel(
        name=name,
        fields=[("pk", key), *references.items(), ("chunks", models.BigIntegerField()), (column, field)],
        options={"abstract": False},
    )


class Migration(migrations.Migration):
    dependencies = [("rag", "0038_model_to_remove"), ("orgs", "0010_scim")]

    operations = [
        migrations.CreateModel(
            name="AccessList",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        default=ragsite.postgres.models.uuid7, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("visibility", models.CharField(max_length=8)),
                (
                    "principals",
                    django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), size=None),
                ),
                (
                    "expiries",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.DateTimeField(), null=True, size=None
                    ),
                ),
                (
                    "organization",
                    models.ForeignKey(
                        db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+", to="orgs.organization",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["organization", "visibility"], name="accesslist_of_organization")]
            },
        ),
        migrations.AddField(
            "datasource",
            "access_list",
            models.ForeignKey(
                db_index=False, editable=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+", to="rag.accesslist",
            ),
        ),
        *(
            migrations.RemoveIndex("datasource", name)
            for name in ("source_public", "source_second_model", "source_not_public")
        ),
        migrations.AddIndex(
            "datasource",
            models.Index(
                fields=["access_list", "embedding_model", "second_model_ready_at", "second_model"],
                name="source_access_list",
            ),
        ),
        migrations.DeleteModel("OrganizationTerm"),
        migrations.DeleteModel("OrganizationConfig"),
        _total("OrganizationTerm", "term", models.IntegerField()),
        _total("OrganizationConfig", "config", models.CharField(max_length=20)),
        *(
            migrations.RunSQL((SQL / f"access_list{name}.sql").read_text())
            for name in ("s", "_statistics", "_scopes", "_search")
        ),
    ]  # fmt: skip
