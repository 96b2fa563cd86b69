"""With which embedding models a set is searched: those that the product chooses for each question.

A source has vectors of the multilingual model only if a document in it, or a question to it, is not English. The
product adds them in the background; here nothing is asked before they are complete.
"""

import time
import uuid
from collections.abc import Iterable

from rag.models import DataSource
from rag.services.queries import scopes_by_embedding_model
from rag.services.reembedding import second_model
from rag.text.question_language import has_foreign_words
from rag.types import Question, SearchScope

_TIMEOUT_SECONDS = 1_800


def scopes(question: Question, source_id: uuid.UUID) -> list[SearchScope]:
    """Return what a question to this source searches."""
    return scopes_by_embedding_model.build_scopes(DataSource.objects.filter(pk=source_id), question)


def prepare(source: DataSource, questions: Iterable[str]) -> None:
    """Add the vectors of the multilingual model that the source's documents or these questions need.

    Raises:
        TimeoutError: If that takes too long.
    """
    requested = [source.pk] if any(map(has_foreign_words, questions)) else []
    end = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        second_model.embed_other_languages(requested)
        source.refresh_from_db(fields=["second_model", "second_model_ready_at"])
        if source.second_model is None or source.second_model_ready_at is not None:
            return
        if time.monotonic() > end:
            raise TimeoutError("The vectors for other languages are not complete.")
