"""Writes users' histories, their searches and conversations, within limits. The oldest rows go first.

A history is never a reason to refuse a question. Every writer of a history holds its lock, so that simultaneous
requests do not exceed a limit together.
"""

import dataclasses
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.models import Count, IntegerField, Max, QuerySet, Sum, TextField
from django.db.models import Func as SqlFunction
from django.db.models.functions import Cast, Coalesce

from accounts.models import User
from orgs.policies.retention import Retention, retention_for
from rag.models import Conversation, ConversationMessage, HistoryUsage, SearchRecord
from rag.types import Message
from ragsite.postgres.locks import advisory_xact_locks

from .history_quota import max_history_bytes

# Longer messages are stored with their beginning only, and with a mark.
MAX_MESSAGE_CHARACTERS = 32_000
TRUNCATION_MARK = " […]"
MAX_CONVERSATION_MESSAGES = 1_000
MAX_CONVERSATIONS = 1_000
MAX_SEARCHES = 10_000
# What a row needs besides its text.
ROW_BYTES = 100
# How many searches are deleted at once if they are too many.
_EVICTED_SEARCHES = 100
# No search is larger. Used to estimate how many must be deleted.
_MAX_SEARCH_BYTES = 4_000


def _length(text: str | Cast) -> SqlFunction:
    """Return the number of bytes of a column. PostgreSQL stores the length, so this does not read a long text."""
    return SqlFunction(text, function="octet_length", output_field=IntegerField())


_MESSAGE_BYTES = _length("content") + Coalesce(_length(Cast("details", TextField())), 0) + ROW_BYTES
_SEARCH_BYTES = _length("text") + _length(Cast("results", TextField())) + ROW_BYTES


def shorten(message: Message) -> Message:
    """Return the message as it is stored."""
    if len(message.content) <= MAX_MESSAGE_CHARACTERS:
        return message
    text = message.content[: MAX_MESSAGE_CHARACTERS - len(TRUNCATION_MARK)]
    return dataclasses.replace(message, content=text + TRUNCATION_MARK)


@contextmanager
def locked_history(user: User, retention: Retention | None = None) -> Iterator["HistoryWriter"]:
    """Hold the lock of the user's history, for a transaction that changes it.

    Where an organisation of the user has a limit of bytes, its members write their histories one after the other.

    Args:
        user: Whose history it is.
        retention: What the request has read already; None to read it.
    """
    with transaction.atomic(savepoint=False):
        organization_ids = (retention or retention_for(user)).limited_organizations
        advisory_xact_locks([f"history of user {user.pk}", *(f"history in {pk}" for pk in organization_ids)])
        usage, _ = HistoryUsage.objects.get_or_create(pk=user.pk)
        writer = HistoryWriter(user, usage, max_history_bytes(user, usage, organization_ids))
        yield writer
        usage.save(update_fields=["bytes", "searches"])


def recount(user: User) -> None:
    """Count the user's stored history again. The nightly deletion calls this, which also repairs the counter."""
    with locked_history(user) as writer:
        for conversation in Conversation.objects.filter(user=user, bytes=0):
            Conversation.objects.filter(pk=conversation.pk).update(bytes=_stored_bytes(conversation))
        conversations = Conversation.objects.filter(user=user).aggregate(bytes=Coalesce(Sum("bytes"), 0))
        searches = SearchRecord.objects.filter(user=user).annotate(size=_SEARCH_BYTES)
        totals = searches.aggregate(bytes=Coalesce(Sum("size"), 0), number=Count("pk"))
        writer.usage.bytes = conversations["bytes"] + totals["bytes"]
        writer.usage.searches = totals["number"]


class HistoryWriter:
    """Stores a user's history, inside `locked_history`."""

    def __init__(self, user: User, usage: HistoryUsage, max_bytes: int) -> None:
        self.usage = usage
        self._user = user
        self._max_bytes = max_bytes

    def add_search(self, record: SearchRecord) -> None:
        """Store the search, and delete older searches, then conversations, until the history fits its limit.

        A search that is too large by itself is not stored.
        """
        if self.usage.searches >= MAX_SEARCHES:
            excess = self.usage.searches - MAX_SEARCHES + 1
            self._delete_searches(max(excess, min(_EVICTED_SEARCHES, MAX_SEARCHES // 10)))
        size = _insert_search(record)
        if size > self._max_bytes:
            SearchRecord.objects.filter(pk=record.pk).delete()
            return
        self.usage.searches += 1
        self.usage.bytes += size
        self._evict_searches()
        self._evict_conversations(keep=None)

    def add_messages(
        self, conversation: Conversation, messages: Sequence[Message], *, details: Mapping[str, object] | None
    ) -> None:
        """Append the messages to the conversation, and delete the oldest parts of the user's history beyond its limit.

        A message that exceeds the limit alone is not stored. If not all of them fit, the newest are stored.

        Args:
            conversation: The conversation with its new description, which is saved: a new one, or a locked one.
            messages: The messages, oldest first.
            details: The details of the last message (ConversationMessage); None for none.
        """
        stored_forms, size = self._newest_that_fit(messages, details)
        is_new, is_counted = conversation._state.adding, conversation.bytes > 0
        last = -1
        if not is_new:
            last = conversation.messages.aggregate(position=Coalesce(Max("position"), -1))["position"]
        self._save(conversation, size=conversation.bytes + size)
        rows = [
            ConversationMessage(conversation=conversation, position=position, role=form.role, content=form.content)
            for position, form in enumerate(stored_forms, start=last + 1)
        ]
        if rows:
            rows[-1].details = details
        ConversationMessage.objects.bulk_create(rows)
        beyond = conversation.messages.filter(position__lte=last + len(rows) - MAX_CONVERSATION_MESSAGES)
        if beyond.delete()[0] or not (is_new or is_counted):
            self._update_size(conversation)
        if is_new:
            excess = Conversation.objects.filter(user=self._user.pk).count() - MAX_CONVERSATIONS
            if excess > 0:
                self._delete_conversations(self._other_conversations(conversation)[:excess])
        self._evict_conversations(keep=conversation)
        self._evict_searches()
        self._evict_messages(conversation)

    def delete_conversation(self, conversation_id: uuid.UUID) -> None:
        """Delete a conversation of the user."""
        self._delete_conversations(Conversation.objects.filter(user=self._user.pk, pk=conversation_id))

    def _newest_that_fit(
        self, messages: Sequence[Message], details: Mapping[str, object] | None
    ) -> tuple[list[Message], int]:
        """Return the newest of the messages, in their stored form, beginning with a message of the user; their size."""
        stored_forms = [shorten(message) for message in messages]
        sizes = [len(message.content.encode()) + ROW_BYTES for message in stored_forms]
        if details:
            sizes[-1] += len(json.dumps(details, ensure_ascii=False).encode())
        starts = (
            index
            for index, message in enumerate(stored_forms)
            if message.role == ConversationMessage.Role.USER and sum(sizes[index:]) <= self._max_bytes
        )
        start = next(starts, len(stored_forms))
        return stored_forms[start:], sum(sizes[start:])

    @property
    def _excess_bytes(self) -> int:
        return self.usage.bytes - self._max_bytes

    def _update_size(self, conversation: Conversation) -> None:
        """Count the size of the conversation again."""
        self._save(conversation, size=_stored_bytes(conversation))

    def _save(self, conversation: Conversation, *, size: int) -> None:
        """Save the conversation, and add its growth to the total of the user, which is saved with the lock's end."""
        self.usage.bytes += size - conversation.bytes
        conversation.bytes = size
        conversation.save(force_insert=conversation._state.adding)

    def _other_conversations(self, keep: Conversation | None) -> QuerySet[Conversation]:
        """Return the user's conversations except this one, the one that was continued longest ago first."""
        conversations = Conversation.objects.filter(user=self._user.pk).order_by("updated_at", "pk")
        return conversations.exclude(pk=keep.pk) if keep else conversations

    def _evict_conversations(self, *, keep: Conversation | None) -> None:
        while self._excess_bytes > 0:
            oldest = list(self._other_conversations(keep).filter(bytes__gt=0)[:1])
            if not oldest:
                return
            self._delete_conversations(oldest)

    def _delete_conversations(self, conversations: Iterable[Conversation]) -> None:
        for conversation in conversations:
            Conversation.objects.filter(pk=conversation.pk).delete()
            self.usage.bytes -= conversation.bytes

    def _evict_searches(self) -> None:
        while self._excess_bytes > 0 and self.usage.searches > 0:
            if not self._delete_searches(1 + self._excess_bytes // _MAX_SEARCH_BYTES):
                return

    def _delete_searches(self, number: int) -> int:
        """Delete the user's oldest searches, and return the number of deleted searches."""
        searches = SearchRecord.objects.filter(user=self._user.pk).annotate(size=_SEARCH_BYTES)
        sizes = dict(searches.order_by("pk").values_list("pk", "size")[:number])
        SearchRecord.objects.filter(pk__in=sizes).delete()
        self.usage.searches -= len(sizes)
        self.usage.bytes -= sum(sizes.values())
        return len(sizes)

    def _evict_messages(self, conversation: Conversation) -> None:
        """Delete the conversation's oldest messages until the rest fits and begins with a message of the user."""
        excess = self._excess_bytes
        if excess <= 0:
            return
        last_position = -1
        messages = conversation.messages.annotate(size=_MESSAGE_BYTES).order_by("position")
        for position, role, size in messages.values_list("position", "role", "size"):
            if excess <= 0 and role == ConversationMessage.Role.USER:
                break
            last_position = position
            excess -= size
        conversation.messages.filter(position__lte=last_position).delete()
        self._update_size(conversation)


def _stored_bytes(conversation: Conversation) -> int:
    messages = ConversationMessage.objects.filter(conversation=conversation).annotate(size=_MESSAGE_BYTES)
    total: int = messages.aggregate(bytes=Coalesce(Sum("size"), 0))["bytes"]
    return total


def _insert_search(record: SearchRecord) -> int:
    """Insert the search, and return its size."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {SearchRecord._meta.db_table} (id, user_id, text, results, time_ms, created_at) "
            "VALUES (%s, %s, %s, %s, %s, %s) RETURNING octet_length(text) + octet_length(results::text) + %s",
            [
                *(record.pk, record.user_id, record.text, json.dumps(record.results)),
                *(record.time_ms, record.created_at, ROW_BYTES),
            ],
        )
        return int(cursor.fetchone()[0])
