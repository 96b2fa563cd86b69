"""Where the recognised lines of scans are, and what recognising them cost."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("rag", "0135_originals_of_documents")]

    operations = [
        migrations.AddField(
            model_name="document",
            name="line_boxes",
            field=models.BinaryField(blank=True, db_default=b"", default=b""),
        ),
        migrations.AddField(
            model_name="document",
            name="recognized_pages",
            # A PositiveIntegerField has a check, for which PostgreSQL reads the whole table while it is locked.
            field=models.IntegerField(db_default=0, default=0, editable=False),
        ),
        migrations.AddField(
            model_name="document",
            name="recognition_seconds",
            field=models.FloatField(db_default=0.0, default=0.0, editable=False),
        ),
    ]
