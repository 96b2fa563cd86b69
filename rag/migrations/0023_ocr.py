"""Whether the text of pictures and scanned pages of a data source is recognised."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("rag", "0019_idempotent_requests")]

    operations = [
        migrations.AddField(
            model_name="datasource",
            name="has_ocr",
            field=models.BooleanField(
                db_default=True,
                default=True,
                help_text="Recognise the text of pictures and of scanned pages. It takes some seconds per page.",
                verbose_name="read text in pictures (OCR)",
            ),
        ),
    ]
