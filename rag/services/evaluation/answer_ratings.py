"""Ratings of answers: helpful or not, with a reason and a comment. A disliked answer makes its question unanswered."""

from django.utils.translation import gettext

from orgs.access.caller import Caller
from rag.errors import UnknownConversation
from rag.models import ConversationMessage
from rag.services.queries.history.own_conversations import list_conversations
from ragsite.postgres.models import as_uuid

from . import record_unanswered


def rate_answer(
    caller: Caller, message_id: str, *, is_helpful: bool | None, reason: str = "", comment: str = ""
) -> ConversationMessage:
    """Save how the caller rates an answer of theirs; None removes the rating.

    Raises:
        UnknownConversation: If there is no such answer in the caller's conversations.
    """
    pk = as_uuid(message_id)
    answers = ConversationMessage.objects.filter(
        conversation__in=list_conversations(caller).values("pk"), role=ConversationMessage.Role.ASSISTANT
    )
    message = answers.filter(pk=pk).first() if pk else None
    if message is None:
        raise UnknownConversation(gettext("There is no such answer."))
    values: dict[str, object] = {
        "is_helpful": is_helpful,
        "rating_reason": reason if is_helpful is False else "",
        "rating_comment": comment if is_helpful is not None else "",
    }
    for field, value in values.items():
        setattr(message, field, value)
    message.save(update_fields=list(values))
    record_unanswered.update_for_rating(caller, message)
    return message
