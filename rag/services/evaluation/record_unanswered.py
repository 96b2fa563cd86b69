"""Stores questions that were not answered well, as far as their user's organisations keep questions."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypedDict

import structlog
from django.db import DatabaseError, connection, transaction

from orgs.access.caller import Caller
from orgs.access.permissions import QueryHistory
from orgs.policies.retention import retention_for
from rag.models import ConversationMessage, UnansweredQuestion
from rag.pipeline.retrieval.retrieve import LANGUAGE_PENDING
from rag.types import AnswerResult, Retrieval, SearchScope
from ragsite.postgres import identity
from ragsite.postgres.locks import advisory_xact_locks
from ragsite.postgres.versions.compatibility import INSUFFICIENT_PRIVILEGE

logger = structlog.get_logger(__name__)

Reason = UnansweredQuestion.Reason
# Answers with a lower confidence are stored; the page "Ask" calls it low.
LOW_CONFIDENCE = 2 / 3
# The oldest questions of a user are deleted beyond this number.
MAX_QUESTIONS_OF_USER = 200
# A question that searched more sources by their ids is not stored.
MAX_SEARCHED_SOURCES = 200
# Composing this statement with Django takes longer than executing it.
_TABLE = UnansweredQuestion._meta.db_table
_DELETE_REPLACED = (
    f"DELETE FROM {_TABLE} WHERE user_id = %s AND id NOT IN ("
    f"SELECT id FROM {_TABLE} WHERE user_id = %s AND NOT (question = %s AND source_id = %s) "
    "ORDER BY id DESC LIMIT %s)"
)


class SearchDetails(TypedDict):
    """What is stored of a searched question with its answer, so that it can be disliked later: ids."""

    source: str
    document: str
    sources: list[str]
    organizations: list[str]


@dataclass(frozen=True, slots=True)
class SearchedQuestion:
    """A question with what is needed to decide later who may see it.

    Attributes:
        text: The question, as it was asked; a follow-up question as it was searched.
        source_id: The source of the closest passage.
        document_id: The document of the closest passage.
        searched_sources: The sources that were searched by their ids.
        searched_organizations: The organisations whose public sources were all searched.
    """

    text: str
    source_id: uuid.UUID
    document_id: uuid.UUID
    searched_sources: tuple[uuid.UUID, ...]
    searched_organizations: tuple[uuid.UUID, ...]

    def to_details(self) -> SearchDetails:
        """Return what is stored with an answer. The text is stored as a message."""
        return {
            "source": str(self.source_id),
            "document": str(self.document_id),
            "sources": [str(pk) for pk in self.searched_sources],
            "organizations": [str(pk) for pk in self.searched_organizations],
        }


@dataclass(frozen=True, slots=True)
class Outcome:
    """How well a question was answered.

    Attributes:
        is_answered: Whether there is an answer, and not only a sentence that says that there is none.
        confidence: The confidence of the answer, 0…1.
        is_pending: Whether the sources are not ready for the question's language yet.
    """

    is_answered: bool
    confidence: float
    is_pending: bool = False

    @classmethod
    def of(cls, result: AnswerResult) -> "Outcome":
        """Return how well the query pipeline answered a question."""
        return cls(bool(result.answer.citations), result.answer.confidence, is_pending(result.retrieval))

    @property
    def is_stored(self) -> bool:
        """Whether the question is declined, unless it may be answered soon, or its answer has a low confidence."""
        return self.confidence < LOW_CONFIDENCE if self.is_answered else not self.is_pending


def is_pending(retrieval: Retrieval) -> bool:
    """Return whether the sources are not ready for the question's language: the same question may be answered soon."""
    return LANGUAGE_PENDING in retrieval.warnings


def list_searches(history: Iterable[ConversationMessage]) -> list[SearchDetails | None]:
    """Return what the questions of a stored conversation searched; None for those that do not say."""
    answers = [message for message in history if message.role == ConversationMessage.Role.ASSISTANT]
    return [(answer.details or {}).get("search") for answer in answers]


def describe_search(
    text: str,
    scopes: Iterable[SearchScope],
    retrieval: Retrieval,
    *,
    earlier: Iterable[SearchDetails | None] = (),
) -> SearchedQuestion | None:
    """Return the question with what it searched.

    Args:
        text: The question.
        scopes: What was searched.
        retrieval: What was found.
        earlier: What is stored with earlier answers (`SearchedQuestion.to_details`) if the text repeats their
            questions: it may be shown to people who may query what these searched as well.

    Returns:
        The question; None if nothing was found, so that it belongs to no source, or if it is not known, or not in few
        ids, what was searched.
    """
    passages, scopes, earlier = retrieval.passages, list(scopes), list(earlier)
    if not passages or any(scope.grants for scope in scopes) or None in earlier:
        return None
    sources = {pk for scope in scopes for pk in scope.source_ids}
    organizations = {pk for scope in scopes for pk in scope.public_in}
    for details in filter(None, earlier):
        sources.update(map(uuid.UUID, details["sources"]))
        organizations.update(map(uuid.UUID, details["organizations"]))
    if len(sources) > MAX_SEARCHED_SOURCES:
        return None
    return SearchedQuestion(
        text, passages[0].source_id, passages[0].document_id, tuple(sorted(sources)), tuple(sorted(organizations))
    )


def keeps_questions(caller: Caller) -> bool:
    """Return whether the user's organisations keep questions."""
    return retention_for(caller.user).history == QueryHistory.FULL


def store_if_unanswered(
    caller: Caller,
    searched: SearchedQuestion | None,
    outcome: Outcome,
    *,
    answer: ConversationMessage | None = None,
) -> None:
    """Store the question if its answer was declined or has a low confidence. Other questions need no statement.

    Args:
        caller: Who asked.
        searched: The question; None if it cannot be stored.
        outcome: How well it was answered.
        answer: The stored answer; None if it is not stored.
    """
    if searched is None or not outcome.is_stored:
        return
    reason = Reason.LOW_CONFIDENCE if outcome.is_answered else Reason.DECLINED
    if keeps_questions(caller):
        _store(_build_row(caller, searched, reason, outcome.confidence, answer))


def update_for_rating(caller: Caller, message: ConversationMessage) -> None:
    """Store the question of an answer that its reader dislikes, or delete it if they do not dislike it any more.

    Questions that were stored when they were asked stay stored.
    """
    stored = UnansweredQuestion.objects.filter(user=caller.authenticated_user, answer_id=message.pk)
    if message.is_helpful is not False:
        stored.filter(reason=Reason.DISLIKED).delete()
        return
    details = message.details or {}
    searched = _load_searched_question(message, details.get("search"))
    if searched is None or stored.exists():
        return
    _store(_build_row(caller, searched, Reason.DISLIKED, details.get("confidence", 0.0), message))


def _load_searched_question(
    answer: ConversationMessage, search_details: SearchDetails | None
) -> SearchedQuestion | None:
    """Rebuild the question of a stored answer from the user message before it; None if it was not kept."""
    question = ConversationMessage.objects.filter(
        conversation=answer.conversation_id, position=answer.position - 1, role=ConversationMessage.Role.USER
    ).first()
    if search_details is None or question is None:
        return None
    return SearchedQuestion(
        (answer.details or {}).get("searched") or question.content,
        uuid.UUID(search_details["source"]),
        uuid.UUID(search_details["document"]),
        tuple(map(uuid.UUID, search_details["sources"])),
        tuple(map(uuid.UUID, search_details["organizations"])),
    )


def _build_row(
    caller: Caller, searched: SearchedQuestion, reason: str, confidence: float, answer: ConversationMessage | None
) -> UnansweredQuestion:
    return UnansweredQuestion(
        conversation_id=answer.conversation_id if answer else None,
        answer_id=answer.pk if answer else None,
        user=caller.authenticated_user,
        source_id=searched.source_id,
        document_id=searched.document_id,
        question=searched.text,
        reason=reason,
        confidence=confidence,
        searched_sources=list(searched.searched_sources),
        searched_organizations=list(searched.searched_organizations),
    )


def _store(row: UnansweredQuestion) -> None:
    """Store the question instead of an earlier one with the same text, and delete what is beyond the user's limit.

    Nothing is stored if its source was closed to the user or deleted since it was searched. The answer has been given
    already, so no other error of the database may break it either.
    """
    try:
        _save_instead_of_earlier(row)
    except DatabaseError as error:
        if getattr(error.__cause__, "sqlstate", "") != INSUFFICIENT_PRIVILEGE:  # of row-level security
            logger.warning("unanswered_question_not_stored", error=type(error).__name__)


def _save_instead_of_earlier(row: UnansweredQuestion) -> None:
    with identity.hint_sources([row.source_id]), transaction.atomic():
        advisory_xact_locks([f"unanswered questions of user {row.user_id}"])
        with connection.cursor() as cursor:
            cursor.execute(
                _DELETE_REPLACED, [row.user_id, row.user_id, row.question, row.source_id, MAX_QUESTIONS_OF_USER - 1]
            )
        row.save(force_insert=True)
