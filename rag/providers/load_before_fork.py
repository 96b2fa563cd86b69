"""Loads what the children of a process need before it forks, so that not each of them takes the time and memory."""

import contextlib
import importlib

from django.db import DatabaseError

from rag.models import EmbeddingModel
from rag.text.languages import detect_language
from rag.text.token_counts import count_tokens


def load_tables() -> None:
    """Load the table of tokens, which takes 0.3 s and 37 MB, and open the tables of languages.

    A text of one letter reads few pages of the tables of languages. A sentence would read 26 MB of them.
    """
    count_tokens("")
    detect_language("a")


def import_for_ingestion() -> None:
    """Import what the children of a worker use for their first document. A failure is theirs to report."""
    load_tables()
    if has_remote_embedding_model():
        import_client_of_remote_models()


def import_client_of_remote_models() -> None:
    """Import the client library, which takes a second."""
    importlib.import_module("openai")


def has_remote_embedding_model() -> bool:
    """Return whether a model is called over the network; False if the database does not answer."""
    with contextlib.suppress(DatabaseError):
        return EmbeddingModel.objects.exclude(provider=EmbeddingModel.Provider.LOCAL).exists()
    return False
