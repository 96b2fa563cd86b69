"""Requests to POST /api/chat."""

from collections.abc import Callable
from typing import Any

from tests.support.http import Client

Api = Callable[..., Client]
TEXT = "Bicycles are parked in the yard. " * 10


def chat(client: Client, text: str = "Where are the bicycles?", **fields: Any) -> Any:
    return client.post("/api/chat", {"model": "llama2", "messages": [{"role": "user", "content": text}], **fields})


USER = {"role": "user", "content": "Hi"}
