"""Measures the bytes of a chunk in the database, by table."""

from typing import Any

from django.apps import apps
from django.db import connection

from rag.models import Chunk


def measure() -> dict[str, Any]:
    chunks = Chunk.objects.count()
    tables = [
        model._meta.db_table
        for model in apps.get_app_config("rag").get_models()
        if model is Chunk or any(field.name == "chunk" for field in model._meta.fields)
    ]
    sizes = {table: _bytes(table) / max(1, chunks) for table in tables}
    return {"chunks": chunks, "bytes_per_chunk": {table: size for table, size in sizes.items() if size >= 1}}


def _bytes(table: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_total_relation_size(%s::regclass)", [table])
        return int(cursor.fetchone()[0])
