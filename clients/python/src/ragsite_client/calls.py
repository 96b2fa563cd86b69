"""What both clients share: the requests of each operation, when a request is repeated, and how responses are read."""

import json
import random
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import httpx2

from . import errors
from .models import Answer, AnswerEvent, NewDocument, Passage

MAX_PAUSE_SECONDS = 60.0
PAGE_SIZE = 200
# How often a refused request is sent again, unless the program says otherwise.
MAX_RETRIES = 4
_FIRST_PAUSE_SECONDS = 0.5
# The server refused the request before it did anything.
_REFUSED = (429, 503)
# A proxy did not get a response, so that the server may have done it.
_UNCERTAIN = (502, 504)


@dataclass(frozen=True, slots=True)
class Call:
    """A request.

    Attributes:
        idempotency_key: With it the server runs the request once, however often it is sent.
    """

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    idempotency_key: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """The headers that belong to this request only."""
        return {"Idempotency-Key": self.idempotency_key} if self.idempotency_key else {}


def list_page(path: str, **params: str) -> Call:
    """Return the call for the first page of a list, without empty filters."""
    given = {name: value for name, value in params.items() if value}
    return Call("GET", path, {**given, "pageSize": str(PAGE_SIZE)})


def next_page(call: Call, response: httpx2.Response) -> Call | None:
    """Return the call for the page after this one, whose cursor is in the `Link` header; None after the last page."""
    address = httpx2.URL(response.links.get("next", {}).get("url", ""))
    cursor = address.params.get("cursor")
    return replace(call, params={**call.params, "cursor": cursor}) if cursor else None


def retrieve(query: str, sources: Sequence[str], top_k: int, filters: Sequence[Mapping[str, object]]) -> Call:
    """Return the call of a search."""
    body: dict[str, object] = {"query": query, "topK": top_k}
    if filters:
        body["filters"] = list(filters)
    return Call("POST", "/api/rag/retrieve", body=_with_sources(body, sources))


def ask(query: str, sources: Sequence[str], *, stream: bool = False) -> Call:
    """Return the call of a question."""
    body = {"query": query, **({"stream": True} if stream else {})}
    return Call("POST", "/api/rag/query", body=_with_sources(body, sources))


def ingest(source: str, documents: Iterable[NewDocument]) -> Call:
    """Return the call that sends texts as a job."""
    body = {"dataSourceId": source, "documents": [document.to_json() for document in documents]}
    return creation("/api/rag/ingest", body)


def create_source(name: str, fields: Mapping[str, object]) -> Call:
    """Return the call that creates a data source."""
    return creation("/api/rag/sources", {"name": name, **fields})


def creation(path: str, body: Any = None) -> Call:
    """Return a call that creates something, with a key of its own."""
    return Call("POST", path, body=body, idempotency_key=str(uuid.uuid4()))


def _with_sources(body: dict[str, object], sources: Sequence[str]) -> dict[str, object]:
    return {**body, "dataSources": list(sources)} if sources else body


def headers(api_key: str, organization: str) -> dict[str, str]:
    """Return the headers of every request."""
    named = {"X-Organization": organization} if organization else {}
    return {"Authorization": f"Bearer {api_key}", "User-Agent": "ragsite-client", **named}


def pause_before_repeating(call: Call, attempt: int, outcome: httpx2.Response | httpx2.TransportError) -> float | None:
    """Return the seconds after which to send a request again; None not to. `Retry-After` is honoured.

    Args:
        call: The request.
        attempt: How often it was sent, from 1.
        outcome: What came of it.
    """
    backoff: float = min(_FIRST_PAUSE_SECONDS * 2 ** (attempt - 1) * random.uniform(0.8, 1.2), MAX_PAUSE_SECONDS)
    if isinstance(outcome, httpx2.TransportError):
        return None if isinstance(outcome, httpx2.UnsupportedProtocol) else backoff
    if outcome.status_code in _REFUSED:
        wait = outcome.headers.get("Retry-After", "")
        seconds = float(wait) if wait.isdigit() else backoff
        return seconds if seconds <= MAX_PAUSE_SECONDS else None
    # The server still answers the request that was sent before.
    is_running = outcome.status_code == 409 and call.idempotency_key != "" and attempt > 1
    return backoff if outcome.status_code in _UNCERTAIN or is_running else None


def read(response: httpx2.Response) -> Any:
    """Return the JSON of a response that was read.

    Raises:
        RagsiteError: If the server refused the request, or the response is no JSON.
    """
    try:
        body = response.json() if response.content else None
    except ValueError:
        body = None
        if response.is_success:
            raise errors.RagsiteError("The response is no JSON. Is this the address of ragsite?") from None
    if not response.is_success:
        raise errors.from_body(response.status_code, body)
    return body


def no_response(error: httpx2.TransportError) -> errors.ConnectionFailed:
    """Return what is raised if a request got no response."""
    if isinstance(error, httpx2.UnsupportedProtocol):
        return errors.ConnectionFailed("The address of ragsite must begin with http:// or https://.")
    return errors.ConnectionFailed(f"The server did not respond: {type(error).__name__}.")


class EventReader:
    """Reads the lines of a stream of server-sent events."""

    def __init__(self) -> None:
        self._name = ""

    def read_line(self, line: str) -> AnswerEvent | None:
        """Return the event that ends with this line, if one does.

        Raises:
            RagsiteError: If the event is an error.
        """
        if line.startswith("event: "):
            self._name = line.removeprefix("event: ")
        if not line.startswith("data: "):
            return None
        body = json.loads(line.removeprefix("data: "))
        match self._name:
            case "token":
                return AnswerEvent(text=body["text"])
            case "sources":
                return AnswerEvent(passages=tuple(Passage.from_json(item) for item in body["documents"]))
            case "done":
                return AnswerEvent(answer=Answer.from_json(body))
            case "error":
                raise errors.from_body(200, body)
        return None
