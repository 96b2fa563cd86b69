"""Does before the first request what a web process would otherwise do during it: seconds of imports and of loading."""

import contextlib
import importlib

from django.conf import settings
from django.db import DatabaseError, connection
from django.urls import get_resolver

from rag.models import EmbeddingModel
from rag.services.operations import component_checks
from rag.text.languages import detect_language


def import_libraries() -> None:
    """Import all views, the tables of languages, and the client of remote models if there is one.

    Processes that are forked later share them.
    """
    assert get_resolver().url_patterns
    detect_language("Which language is this?")
    with contextlib.suppress(DatabaseError):
        remote_models = EmbeddingModel.objects.exclude(provider=EmbeddingModel.Provider.LOCAL)
        if settings.LLM_MODEL or remote_models.exists():
            importlib.import_module("openai")
    connection.close()


def load_models() -> None:
    """Load the local embedding model, if new data sources use it. It belongs to one process."""
    component_checks.check_components()
    connection.close()
