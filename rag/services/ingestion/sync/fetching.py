"""Fetches the content of items into temporary files."""

import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO

from django.conf import settings

from rag.errors import DocumentTooLarge
from rag.models import SyncItem
from rag.providers.connectors.base import Connector, ItemFailed


@dataclass(frozen=True, slots=True)
class FetchedItem:
    """The content of an item, in a file that is deleted when it is closed."""

    item: SyncItem
    file: IO[bytes]
    size: int
    sha256: str
    name: str
    uri: str
    content_type: str
    validators: Mapping[str, str]

    @property
    def state(self) -> dict[str, object]:
        """What is stored of this version when it is ingested."""
        return {
            "version": self.item.listed_version,
            "validators": dict(self.validators),
            "content_hash": self.sha256,
        }


def fetch(connector: Connector, item: SyncItem, *, validators: Mapping[str, str]) -> FetchedItem | None:
    """Read the item's content to its end; None if it has not changed since the version of the validators.

    Raises:
        ItemGone: If it does not exist any more.
        ItemFailed: If it cannot be read, or is too large.
    """
    with connector.open(item.path, validators=validators) as opened:
        if opened is None:
            return None
        # The name tells the daily deletion of abandoned copies that it may delete the file.
        file = tempfile.NamedTemporaryFile(dir=settings.RAG_TEMP_FOLDER, prefix="copy-")  # noqa: SIM115
        try:
            size, digest = 0, hashlib.sha256()
            for part in opened.parts:
                size += len(part)
                if size > settings.RAG_MAX_FILE_BYTES:
                    raise ItemFailed(
                        f"It has more than {settings.RAG_MAX_FILE_BYTES:,} bytes (RAG_MAX_FILE_BYTES).",
                        code=DocumentTooLarge.code,
                    )
                digest.update(part)
                file.write(part)
            file.flush()
        except BaseException:
            file.close()
            raise
        details = (opened.name, opened.uri, opened.content_type, opened.validators)
        return FetchedItem(item, file, size, digest.hexdigest(), *details)
