"""What each organisation stores in a row of its own, and indexes for documents that are deleted and not yet purged."""

import django.db.models.deletion
from django.db import migrations, models

SIZES = """
UPDATE rag_document SET bytes = octet_length(text)
    + coalesce((SELECT size FROM rag_original WHERE rag_original.id = rag_document.original_id), 0)
"""
COUNTERS = """
INSERT INTO rag_usage (organization_id, chunks, bytes)
SELECT s.organization_id, sum(d.chunk_count), sum(d.bytes)
FROM rag_document d JOIN rag_datasource s ON s.id = d.source_id
WHERE d.deleted_at IS NULL AND s.deleted_at IS NULL
GROUP BY s.organization_id
"""


class Migration(migrations.Migration):

    dependencies = [
        ('orgs', '0006_byte_quota'),
        ("rag", "0011_vector_index_later"),
    ]

    operations = [
        migrations.CreateModel(
            name='Usage',
            fields=[
                ('organization', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='usage', serialize=False, to='orgs.organization', verbose_name='organisation')),
                ('chunks', models.BigIntegerField(default=0)),
                ('bytes', models.BigIntegerField(default=0)),
            ],
            options={
                'verbose_name_plural': 'usage',
            },
        ),
        migrations.AddField(
            model_name='document',
            name='bytes',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(condition=models.Q(('chunk_count__gt', 0), ('deleted_at__isnull', False)), fields=['id'], name='document_unpurged'),
        ),
        migrations.AddIndex(
            model_name='document',
            index=models.Index(condition=models.Q(('deleted_at__isnull', False)), fields=['source', 'path'], name='document_deleted'),
        ),
        migrations.RunSQL(SIZES, migrations.RunSQL.noop),
        migrations.RunSQL(COUNTERS, migrations.RunSQL.noop),
    ]
