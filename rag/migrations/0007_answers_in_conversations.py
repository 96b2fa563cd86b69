"""What answers are based on, how their readers rate them, and the titles of conversations."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("rag", "0006_embedding512")]

    operations = [
        migrations.AddField(
            model_name="conversation",
            name="title",
            field=models.CharField(blank=True, default="", max_length=120),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="conversationmessage",
            name="details",
            field=models.JSONField(editable=False, null=True),
        ),
        migrations.AddField(
            model_name="conversationmessage",
            name="is_helpful",
            field=models.BooleanField(null=True),
        ),
        migrations.AddField(
            model_name="conversationmessage",
            name="rating_reason",
            field=models.CharField(
                blank=True,
                choices=[
                    ("wrong", "The answer is wrong"),
                    ("incomplete", "Something is missing"),
                    ("sources", "The passages do not fit"),
                    ("outdated", "The documents are out of date"),
                    ("other", "Something else"),
                ],
                default="",
                max_length=10,
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="conversationmessage",
            name="rating_comment",
            field=models.CharField(blank=True, default="", max_length=500),
            preserve_default=False,
        ),
    ]
