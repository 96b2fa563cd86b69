"""Keeps the messages of pages, such as “Saved”, in the session until a page shows them."""

from typing import Any

from django.contrib.messages.storage.session import SessionStorage

# A client that follows no redirect is shown none. Each request reads and writes all that are kept.
MAX_MESSAGES = 100


class BoundedSessionStorage(SessionStorage):
    """Django's storage for the newest messages: it has no limit of its own."""

    def _store(self, messages: Any, response: Any, *args: Any, **kwargs: Any) -> Any:
        newest = list(messages or ())[-MAX_MESSAGES:]
        return super()._store(newest, response, *args, **kwargs)  # type: ignore[misc]  # not in the stubs
