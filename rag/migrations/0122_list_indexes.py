"""Indexes for the admin's lists, which are built while others read and write."""

from django.db import migrations, models
from django.db.models import F, Func, IntegerField, Q
from django.db.models.lookups import GreaterThan, LessThanOrEqual

_BYTES_SQL = "octet_length(title) + octet_length(path)"
_CREATE = [
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS document_names ON rag_document (id) INCLUDE (source_id, title, path) "
    f"WHERE deleted_at IS NULL AND {_BYTES_SQL} <= 2400",
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS document_long_names ON rag_document (id) "
    f"WHERE deleted_at IS NULL AND {_BYTES_SQL} > 2400",
    "CREATE INDEX CONCURRENTLY IF NOT EXISTS failed_documents_of_job ON rag_ingestiondocument (job_id) "
    "WHERE state = 'failed'",
]
_BYTES = Func(F("title"), function="octet_length", output_field=IntegerField()) + Func(
    F("path"), function="octet_length", output_field=IntegerField()
)
_INDEXES = [
    (
        "document",
        models.Index(
            fields=["id"],
            include=["source", "title", "path"],
            condition=Q(("deleted_at", None), LessThanOrEqual(_BYTES, 2400)),
            name="document_names",
        ),
    ),
    (
        "document",
        models.Index(
            fields=["id"], condition=Q(("deleted_at", None), GreaterThan(_BYTES, 2400)), name="document_long_names"
        ),
    ),
    (
        "ingestiondocument",
        models.Index(fields=["job"], condition=Q(state="failed"), name="failed_documents_of_job"),
    ),
]


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("rag", "0121_document_date")]

    operations = [
        migrations.RunSQL(sql, state_operations=[migrations.AddIndex(model, index)])
        for sql, (model, index) in zip(_CREATE, _INDEXES, strict=True)
    ]
