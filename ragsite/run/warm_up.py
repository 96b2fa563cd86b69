"""Does before the first request what a web process would otherwise do during it: seconds of imports and of loading."""

import contextlib

from django.conf import settings
from django.db import connection
from django.urls import get_resolver

from rag.errors import ProviderFailed
from rag.providers import load_before_fork, provider_factory
from rag.services.operations import readiness_checks


def import_libraries() -> None:
    """Import all views, the tables of tokens and languages, and the client of remote models if there is one.

    Processes that are forked later share them.
    """
    assert get_resolver().url_patterns
    load_before_fork.load_tables()
    if settings.LLM_MODEL or load_before_fork.has_remote_embedding_model():
        load_before_fork.import_client_of_remote_models()
    connection.close()


def load_models() -> None:
    """Load the local embedding model, if new data sources use it. It belongs to one process.

    The model that checks quoted answers is only built, if that was not done before: it is loaded for the first of them.
    """
    readiness_checks.check_components()
    if not settings.LLM_MODEL and (answer_check := provider_factory.answer_check()):
        with contextlib.suppress(ProviderFailed, OSError):  # the first answer tries again, and logs the reason
            answer_check.build()
    connection.close()
