"""Files as they were sent, in Django's storage, so that documents can be parsed again."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from django.db import models

from ragsite.db import UUIDModel

from .sources import DataSource, SourceContentQuerySet


def place(original: "Original", name: str) -> str:
    """By ids alone: a client's name never becomes a path of the storage."""
    return f"originals/{original.source_id}/{original.pk}"


class Original(UUIDModel):
    """The file lives as long as its row, and the row as long as a document or an open job needs it."""

    source = models.ForeignKey(DataSource, models.CASCADE, related_name="originals")
    file = models.FileField(upload_to=place, max_length=200)
    name = models.TextField(help_text="As the client called it.")
    # As it was declared; what it is read as is decided by its content.
    content_type = models.CharField(max_length=200, blank=True)
    size = models.PositiveBigIntegerField(help_text="Bytes.")
    sha256 = models.CharField("SHA-256", max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SourceContentQuerySet.as_manager()

    class Meta:
        ordering = ("-id",)

    def __str__(self) -> str:
        return self.name

    @contextlib.contextmanager
    def local_copy(self) -> Iterator[Path]:
        """A file on this machine with its content, for as long as the block lasts."""
        with self.file.open("rb") as content, tempfile.NamedTemporaryFile() as copy:
            for piece in content.chunks():
                copy.write(piece)
            copy.flush()
            yield Path(copy.name)
