"""The outbox of a search index outside of PostgreSQL: the documents whose chunks have changed.

Triggers fill it in the transactions of the changes (rag/migrations/sql/qdrant.sql) while such an index is in use.
"""

from django.db import models


class IndexChange(models.Model):
    """A document whose points in Qdrant may differ from its chunks. The row is deleted once they have been compared."""

    document_id = models.UUIDField()

    def __str__(self) -> str:
        return str(self.document_id)
