"""Questions on the page Ask, as browsers send them."""

import json
import re
from typing import Any

from django.test import Client

QUESTION = "How much does a zebra weigh?"


def ask(client: Client, question: str = QUESTION, **fields: Any) -> Any:
    return client.post("/", {"question": question, **fields}, follow=True)


def stream(client: Client, **fields: Any) -> list[tuple[str, Any]]:
    reply: Any = client.post("/", {"question": QUESTION, **fields}, headers={"Accept": "text/event-stream"})
    assert reply["Content-Type"] == "text/event-stream", reply.content
    blocks = b"".join(reply.streaming_content).decode().split("\n\n")
    matches = [re.fullmatch(r"event: (\w+)\ndata: (.*)", block) for block in blocks]
    return [(match[1], json.loads(match[2])) for match in matches if match]


def citation_urls(html: str) -> list[str]:
    return [url.replace("&amp;", "&") for url in re.findall(r'<a class="cite" href="([^"]+)"', html)]
