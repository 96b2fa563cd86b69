from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("rag", "0043_access_lists")]

    operations = [
        migrations.AlterModelOptions("ingestionjob", {"ordering": ("-id",), "verbose_name": "job"}),
        migrations.AlterModelOptions(
            "ingestiondocument", {"ordering": ("job", "index"), "verbose_name": "job document"}
        ),
    ]
