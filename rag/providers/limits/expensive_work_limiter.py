"""Bounds expensive work that clients wait for on the web server's machine, and shares it between organisations.

An admitted document takes a slot for each piece of the work, and releases it in between. So a short document does not
wait for a long one of somebody else (docs/decisions/0042-expensive-requests.md).
"""

import contextlib
import itertools
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass

from django.conf import settings

from rag.errors import RagError, StorageFailed

from .cross_process_slots import CrossProcessSlots
from .long_request_limiter import LONG_REQUESTS

# How long a document waits for a slot, and how long it may take in all, before its request gets a 503.
MAX_WAIT_SECONDS = 10.0
MAX_SECONDS = 60.0
# Documents up to this size go before the long ones of their organisation: the v3 contract (section 6) has an aim of
# 5 seconds for 10 KB.
_SMALL_BYTES = 16 * 1024


@dataclass(eq=False, slots=True)
class _Document:
    """A document in progress. `deadline` is on the monotonic clock."""

    tenant_id: uuid.UUID
    is_small: bool
    number: int
    deadline: float


class SlotLimiter:
    """Limits one kind of work on documents, and shares it between organisations.

    At most RAG_MAX_MODEL_CALLS documents are in progress in each process, and at most RAG_MAX_DOCUMENT_EMBEDDINGS slots
    of the machine are in use.
    """

    def __init__(self, slots_folder: str, busy: Callable[[], RagError]) -> None:
        """Share the slots of a kind of work with the other processes of the machine.

        Args:
            slots_folder: The name of the kind's folder in RAG_TEMP_FOLDER.
            busy: Returns the error for a document that is not admitted, or gets no slot in time.
        """
        self._slots_folder = slots_folder
        self._busy = busy
        self._condition = threading.Condition()
        self._numbers = itertools.count(1)
        self._in_progress: Counter[uuid.UUID] = Counter()  # documents of each tenant
        self._waiting: list[_Document] = []
        self._last_turns: dict[uuid.UUID, int] = {}  # the number of each tenant's last attempt to get a slot
        self._has_candidate = False  # a document waits for a slot of the machine
        self._current: ContextVar[_Document | None] = ContextVar("document", default=None)

    @contextlib.contextmanager
    def admit(self, tenant_id: uuid.UUID, *, size: int) -> Iterator[None]:
        """Count a document while the block runs; its pieces of work wait for slots.

        A tenant may have at most as many documents in progress as the process could still admit. So one tenant alone
        gets half of RAG_MAX_MODEL_CALLS, and the next one half of the rest.

        Args:
            tenant_id: The organisation, or the user if the request names no organisation.
            size: The size of the document's text in bytes.

        Raises:
            RagError: That of `busy`, if the tenant may have no further document in progress.
            TooManyLongRequests: If the user has too many long requests in progress.
        """
        with LONG_REQUESTS.admit(), self._admitted(tenant_id, size):
            yield

    @contextlib.contextmanager
    def _admitted(self, tenant_id: uuid.UUID, size: int) -> Iterator[None]:
        with self._condition:
            free = settings.RAG_MAX_MODEL_CALLS - self._in_progress.total()
            if self._in_progress[tenant_id] >= free:
                raise self._busy()
            self._in_progress[tenant_id] += 1
            document = _Document(tenant_id, size <= _SMALL_BYTES, next(self._numbers), time.monotonic() + MAX_SECONDS)
        token = self._current.set(document)
        try:
            yield
        finally:
            self._current.reset(token)
            with self._condition:
                self._in_progress[tenant_id] -= 1
                if not self._in_progress[tenant_id]:
                    del self._in_progress[tenant_id]
                    self._last_turns.pop(tenant_id, None)

    @contextlib.contextmanager
    def slot(self) -> Iterator[None]:
        """Wait for a slot of the machine for the admitted document, and hold it while the block runs.

        Work for no admitted document (a question, a worker) does not wait.

        Raises:
            RagError: That of `busy`, if the document would wait too long.
            StorageFailed: If the folder of the slots cannot be used.
        """
        document = self._current.get()
        if document is None:
            yield
            return
        deadline = min(time.monotonic() + MAX_WAIT_SECONDS, document.deadline)
        self._become_candidate(document, deadline)
        with contextlib.ExitStack() as stack:
            try:
                slot = self._cross_process_slots().slot(timeout=deadline - time.monotonic())
                has_slot = stack.enter_context(slot)
            except OSError as error:
                raise StorageFailed("The server cannot write to its temporary folder.") from error
            finally:
                with self._condition:
                    self._has_candidate = False
                    self._last_turns[document.tenant_id] = next(self._numbers)
                    self._condition.notify_all()
            if not has_slot:
                raise self._busy()
            yield

    def _become_candidate(self, document: _Document, deadline: float) -> None:
        """Wait until this is the one document of this process that requests a slot of the machine."""
        with self._condition:
            self._waiting.append(document)
            try:
                if not self._condition.wait_for(lambda: self._may_request_slot(document), deadline - time.monotonic()):
                    raise self._busy()
                self._has_candidate = True
            finally:
                self._waiting.remove(document)

    def _may_request_slot(self, document: _Document) -> bool:
        """Return whether the document may request a slot of the machine next.

        The account that got a slot least recently comes first; of its documents, small documents, then the oldest.
        """
        if self._has_candidate:
            return False
        return document is min(
            self._waiting,
            key=lambda waiting: (
                self._last_turns.get(waiting.tenant_id, 0),
                not waiting.is_small,
                waiting.number,
            ),
        )

    def _cross_process_slots(self) -> CrossProcessSlots:
        folder = settings.RAG_TEMP_FOLDER / self._slots_folder
        return CrossProcessSlots(folder=folder, count=settings.RAG_MAX_DOCUMENT_EMBEDDINGS)
