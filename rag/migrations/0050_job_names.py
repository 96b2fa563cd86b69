from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("rag", "0038_model_to_remove")]

    operations = [
        migrations.AlterModelOptions("ingestionjob", {"ordering": ("-id",), "verbose_name": "job"}),
        migrations.AlterModelOptions(
            "ingestiondocument", {"ordering": ("job", "index"), "verbose_name": "job document"}
        ),
    ]
