"""Names the model whose vectors are removed. The database does not change: the column keeps its name."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("rag", "0039_sync_events")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveConstraint(model_name="reembedding", name="one_open_reembedding"),
                migrations.RenameField(model_name="reembedding", old_name="clearing", new_name="model_to_remove"),
                migrations.AlterField(
                    model_name="reembedding",
                    name="model_to_remove",
                    field=models.ForeignKey(
                        db_column="clearing_id",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="rag.embeddingmodel",
                    ),
                ),
                migrations.AddConstraint(
                    model_name="reembedding",
                    constraint=models.UniqueConstraint(
                        condition=Q(state__in=["building", "ready", "failed"]) | Q(model_to_remove__isnull=False),
                        fields=("source",),
                        name="one_open_reembedding",
                    ),
                ),
            ]
        ),
    ]
