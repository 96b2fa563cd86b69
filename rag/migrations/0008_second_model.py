"""The second embedding model of a data source, for texts that are not English."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("rag", "0007_answers_in_conversations"),
    ]

    operations = [
        migrations.AddField(
            model_name="datasource",
            name="second_model",
            field=models.ForeignKey(
                blank=True,
                editable=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="rag.embeddingmodel",
            ),
        ),
        migrations.AddField(
            model_name="datasource",
            name="second_model_ready_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    ]
