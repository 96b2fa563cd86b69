"""Unanswered questions of a source, as clusters of similar ones, for the people who manage it."""

import datetime
import itertools
import uuid
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext

from orgs.access.caller import Caller
from orgs.access.permissions import QueryHistory
from rag.errors import UnknownDocument, UnknownQuestion
from rag.models import Action, DataSource, Document, UnansweredQuestion
from rag.providers import provider_factory
from rag.providers.base import Vectors
from rag.providers.limits.document_limiter import DOCUMENT_LIMITER
from rag.text.question_language import is_english

from . import golden_questions

# The newest questions of a source are shown.
MAX_SHOWN_QUESTIONS = 300
# Questions with at least this cosine similarity to the newest one of a cluster belong to it.
_MIN_SIMILARITY = 0.8
# Of very long questions only the newest are compared: together they have at most this many characters, and as many
# tokens if they are no words, about six seconds of work on a slow core (docs/decisions/0042-expensive-requests.md).
_MAX_COMPARED_CHARACTERS = 25_000


@dataclass(frozen=True, slots=True)
class QuestionCluster:
    """Questions that ask for much the same.

    Attributes:
        ids: The primary keys of the questions, the newest first.
        texts: The different texts of the questions, the newest first.
        reasons: How often each reason applies (labels of UnansweredQuestion.Reason), the most frequent first.
        asked_at: When the newest one was asked.
        document: The document with the passage that was closest to the newest one; None if it was deleted.
    """

    ids: tuple[uuid.UUID, ...]
    texts: tuple[str, ...]
    reasons: tuple[tuple[str, int], ...]
    asked_at: datetime.datetime
    document: Document | None


def list_clusters(source: DataSource, caller: Caller) -> list[QuestionCluster]:
    """Return the clusters that the caller may see, the largest first.

    Raises:
        EmbeddingFailed: If the local model does not work, or too many long texts wait for it.
        TooManyLongRequests: If the caller has too many long requests in progress.
    """
    questions = _list_readable(source, caller)
    documents = Document.objects.visible_to(caller, Action.QUERY).filter(source=source, deleted_at=None)
    documents_by_id = documents.without_text().in_bulk([question.document_id for question in questions])
    clusters = [
        QuestionCluster(
            ids=tuple(question.pk for question in cluster),
            texts=tuple(dict.fromkeys(question.question for question in cluster)),
            reasons=tuple(Counter(question.get_reason_display() for question in cluster).most_common()),
            asked_at=cluster[0].created_at,
            document=documents_by_id.get(cluster[0].document_id),
        )
        for cluster in _cluster(questions, source.organization_id)
    ]
    return sorted(clusters, key=lambda cluster: len(cluster.ids), reverse=True)


@transaction.atomic
def make_golden_question(source: DataSource, caller: Caller, question_ids: Collection[uuid.UUID]) -> str:
    """Turn a cluster into a golden question that expects the closest document, and remove the cluster.

    Args:
        source: The source.
        caller: A user who manages the source.
        question_ids: The questions of the cluster. The newest one becomes the golden question.

    Returns:
        The question.

    Raises:
        UnknownQuestion: If the caller may see none of the questions.
        UnknownDocument: If the document was deleted.
        InvalidRequest: If the source has as many golden questions as it may have.
    """
    questions = _get_readable(source, caller, question_ids)
    documents = Document.objects.visible_to(caller, Action.QUERY).filter(source=source, deleted_at=None)
    path = documents.filter(pk=questions[0].document_id).values_list("path", flat=True).first()
    if path is None:
        raise UnknownDocument(gettext("The document was deleted. Name another one that the question must find."))
    golden_questions.add(source, [(questions[0].question, path, "")], by=caller)
    _delete(questions)
    return questions[0].question


def dismiss(source: DataSource, caller: Caller, question_ids: Collection[uuid.UUID]) -> int:
    """Delete those of the questions that the caller may see, and return their number.

    Raises:
        UnknownQuestion: If the caller may see none of them.
    """
    questions = _get_readable(source, caller, question_ids)
    _delete(questions)
    return len(questions)


def _get_readable(source: DataSource, caller: Caller, question_ids: Collection[uuid.UUID]) -> list[UnansweredQuestion]:
    questions = [question for question in _list_readable(source, caller) if question.pk in question_ids]
    if not questions:
        raise UnknownQuestion(gettext("These questions do not exist any more."))
    return questions


def _delete(questions: Sequence[UnansweredQuestion]) -> None:
    UnansweredQuestion.objects.filter(pk__in=[question.pk for question in questions]).delete()


def _list_readable(source: DataSource, caller: Caller) -> list[UnansweredQuestion]:
    """Return the newest questions whose searched sources the caller may all query.

    A question may repeat text that its author could read.
    """
    if source.organization.query_history != QueryHistory.FULL:
        return []
    visible = UnansweredQuestion.objects.visible_to(caller, Action.QUERY)
    newest = list(visible.filter(source=source).order_by("-pk")[:MAX_SHOWN_QUESTIONS])
    searched_ids = {pk for question in newest for pk in question.searched_sources}
    sources = DataSource.objects.visible_to(caller, Action.QUERY).filter(pk__in=searched_ids)
    source_ids = set(sources.values_list("pk", flat=True))
    organization_ids = DataSource.objects.queryable_by(caller).organizations
    return [
        question
        for question in newest
        if source_ids.issuperset(question.searched_sources)
        and organization_ids.issuperset(question.searched_organizations)
    ]


def _cluster(questions: Sequence[UnansweredQuestion], organization_id: uuid.UUID) -> list[list[UnansweredQuestion]]:
    """Group questions by their similarity to the first one of each group, in order; the last ones may be alone."""
    lengths = itertools.accumulate(len(question.question) for question in questions)
    compared = questions[: sum(length <= _MAX_COMPARED_CHARACTERS for length in lengths)]
    others = [[question] for question in questions[len(compared) :]]
    if not compared:
        return others
    vectors = _embed([question.question for question in compared], organization_id)
    similarities = vectors @ vectors.T
    clusters: dict[int, list[UnansweredQuestion]] = {}
    for index, question in enumerate(compared):
        nearest = max(clusters, key=lambda first: similarities[index, first], default=index)
        if nearest == index or similarities[index, nearest] < _MIN_SIMILARITY:
            clusters[index] = [question]
        else:
            clusters[nearest].append(question)
    return [*clusters.values(), *others]


def _embed(texts: Sequence[str], organization_id: uuid.UUID) -> Vectors:
    """Embed the questions in the places for documents of waiting clients, which organisations share."""
    is_multilingual = settings.RAG_MULTILINGUAL_MODEL and not all(map(is_english, texts))
    embedder = provider_factory.multilingual_embedder() if is_multilingual else provider_factory.local_embedder()
    with DOCUMENT_LIMITER.admit(organization_id, size=sum(len(text.encode()) for text in texts)):
        return embedder.embed(texts)
