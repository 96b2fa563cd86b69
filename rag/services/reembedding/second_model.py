"""Vectors of a second, multilingual model, in addition to those of an English one (docs/decisions/0046-languages.md).

A source needs them from the first document or question on that is not English. Which vectors are missing is read from
the chunks themselves. So an interrupted build continues, and documents that are added later get theirs as well.
"""

import contextlib
import time
import uuid
from collections.abc import Sequence

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from rag import task_queue
from rag.errors import EmbeddingFailed, ModelChanged, ProviderFailed, UnknownSource
from rag.models import DataSource, Document, EmbeddingModel
from rag.models.embedding_models import ENGLISH_MODELS
from rag.pipeline.ingestion import reembed
from rag.providers import provider_factory
from rag.text.question_language import FOREIGN_LANGUAGES
from ragsite.postgres.locks import session_lock

logger = structlog.get_logger(__name__)


def request_vectors(source_ids: Sequence[uuid.UUID]) -> None:
    """Ask the workers to embed these sources with the second model. The next query repeats a lost message."""
    task_queue.send("rag.embed_other_languages", [str(source_id) for source_id in source_ids], expires=60)


def embed_other_languages(source_ids: Sequence[uuid.UUID]) -> None:
    """Assign the second model to the sources that need it, and add their missing vectors.

    One process at a time embeds, for at most as long as the sweep's interval. Its lock ends with the database
    connection.

    Args:
        source_ids: Further sources that need vectors of the second model from now on.
    """
    model = EmbeddingModel.objects.multilingual()
    if model is None:
        return
    _assign_second_model(model, source_ids)
    with session_lock("second_model") as is_acquired:
        if not is_acquired:
            return
        try:
            _embed_sources(deadline=time.monotonic() + settings.RAG_SWEEP_INTERVAL_SECONDS)
        except (DatabaseError, InterfaceError):
            logger.exception("second_model_interrupted")
            connection.close()
        except EmbeddingFailed as error:
            logger.warning("second_model_interrupted", reason=error.message)


def _assign_second_model(model: EmbeddingModel, source_ids: Sequence[uuid.UUID]) -> None:
    """Assign the model to these sources and to all with a document that is not English, if they have an English one."""
    with_english_model = DataSource.objects.filter(
        deleted_at=None, second_model=None, embedding_model__name__in=ENGLISH_MODELS
    )
    with_english_model.filter(pk__in=source_ids).update(second_model=model)
    foreign_documents = Document.objects.live().filter(source=OuterRef("pk"), lang__in=FOREIGN_LANGUAGES)
    with_english_model.filter(Exists(foreign_documents)).update(second_model=model)


def _embed_sources(*, deadline: float) -> None:
    """Give each source a part of the time. Sources that are not searched with the second model yet come first.

    The files of the model that reads questions and passages together are written first, if they are missing.
    """
    sources = DataSource.objects.filter(deleted_at=None, second_model__isnull=False).select_related("second_model")
    ordered = list(sources.order_by("second_model_ready_at", "pk"))
    if ordered and (model := provider_factory.multilingual_check()):
        with contextlib.suppress(ProviderFailed, OSError):  # the first question tries again, and logs the reason
            model.build()
    for index, source in enumerate(ordered):
        seconds = max(0.0, deadline - time.monotonic()) / (len(ordered) - index)
        try:
            _embed_source(source, deadline=time.monotonic() + seconds)
        except (UnknownSource, ModelChanged):
            continue


def _embed_source(source: DataSource, *, deadline: float) -> None:
    """Embed the chunks without a vector in the order of their keys. A pass that ends early begins again."""
    model = source.second_model
    assert model is not None
    position: uuid.UUID | None = None
    while chunks := reembed.next_chunks(source, model, after=position):
        vectors = reembed.embed(chunks, model)
        with transaction.atomic():
            source.lock_for_write()
            reembed.add_vectors(model, chunks, vectors)
        position = chunks[-1].id
        if time.monotonic() > deadline:
            return
    if source.second_model_ready_at is None and reembed.is_complete(source, model):
        DataSource.objects.filter(pk=source.pk).update(second_model_ready_at=Now())
