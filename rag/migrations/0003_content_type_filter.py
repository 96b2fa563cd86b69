"""A document's content type becomes effective, and searches can be narrowed to it.

Existing vectors get `text/plain` without being rewritten: entering a row into the HNSW index again costs milliseconds,
and only the others must be.
"""

from django.db import migrations, models

TABLES = ("embedding384", "embedding768", "embedding1536", "embedding3072")

# As rag.parsing.registry.media_type had it when this was written.
FILL_DOCUMENTS = r"""
UPDATE rag_document SET content_type = CASE
    WHEN lower(split_part(split_part(path, '?', 1), '#', 1)) ~ '[^/]\.(md|markdown|mdx)/*$' THEN 'text/markdown'
    ELSE 'text/plain' END
WHERE content_type = ''
"""
FILL_EMBEDDINGS = [
    f"UPDATE rag_{table} SET content_type = document.content_type FROM rag_document AS document "
    f"WHERE document.id = rag_{table}.document_id AND document.content_type <> rag_{table}.content_type"
    for table in TABLES
]


class Migration(migrations.Migration):
    dependencies = [("rag", "0002_vectors_in_the_row")]

    operations = [
        migrations.AlterField("document", "content_type", models.CharField(max_length=200)),
        *(
            migrations.AddField(
                table, "content_type", models.CharField(default="text/plain", max_length=200), preserve_default=False
            )
            for table in TABLES
        ),
        migrations.RunSQL([FILL_DOCUMENTS, *FILL_EMBEDDINGS], migrations.RunSQL.noop),
    ]
