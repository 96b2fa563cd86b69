"""The content of small files is in their rows. The path of all others follows from their ids.

Processes of an earlier version would miss the files of small documents. As a column is removed, `migrate` refuses
while they run.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("rag", "0133_requested_measurements")]

    operations = [
        migrations.RemoveField("original", "file"),
        migrations.AddField("original", "content", models.BinaryField(null=True)),
    ]
