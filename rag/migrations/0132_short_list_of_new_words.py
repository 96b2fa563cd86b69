"""Searches by words read at most 256 kB of what is not in the index of words yet."""

from django.contrib.postgres.indexes import GinIndex
from django.db import migrations

INDEX = GinIndex(fields=["terms"], gin_pending_list_limit=256, name="terms_words")


class Migration(migrations.Migration):
    dependencies = [("rag", "0131_words_of_few_chunks")]

    operations = [
        migrations.SeparateDatabaseAndState(
            # Creating the index again would take long.
            database_operations=[
                migrations.RunSQL(
                    "ALTER INDEX terms_words SET (gin_pending_list_limit = 256); "
                    "SELECT gin_clean_pending_list('terms_words')"
                )
            ],
            state_operations=[
                migrations.RemoveIndex("chunkterms", "terms_words"),
                migrations.AddIndex("chunkterms", INDEX),
            ],
        )
    ]
