"""What an answer is: a success, an error that the contract has, or a broken promise."""

import enum
import json
from dataclasses import dataclass

from tests.support import conformance

# The words of an unexpected exception (ragsite.views.errors.server_error, rag.contracts.common.streaming).
UNEXPECTED = b"Something went wrong on this side"
# Where a contract states 500 for a model or a database that is away (docs/contracts/errors.md).
_STATED_500 = ("/agent/", "/functions/", "/api/rag/answer", "/api/rag/search")


class Kind(enum.Enum):
    SUCCESS = "success"
    ERROR = "contract's error"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Verdict:
    kind: Kind
    why: str = ""


def broken(why: str) -> Verdict:
    return Verdict(Kind.BROKEN, why)


def judged(method: str, path: str, status: int, headers: dict[str, str], content: bytes) -> Verdict:
    """headers: names in lower case. Of requests in which the client did nothing wrong."""
    if UNEXPECTED in content:
        return broken(f"{status}, an unexpected exception")
    try:
        conformance.check_response(method, path, status, headers, content)
    except (AssertionError, ValueError) as error:
        return broken(f"{status}, not as in the schema: {str(error)[:200]}")
    if status < 300:
        streamed = headers.get("content-type", "").startswith("text/event-stream")
        return _of_stream(content) if streamed else Verdict(Kind.SUCCESS)
    if status == 500 and path.startswith(_STATED_500):
        return Verdict(Kind.ERROR, "500 as the contract states it")
    if status in (429, 503):
        if path.startswith(("/api/", "/functions/")) and "retry-after" not in headers:
            return broken(f"{status} without Retry-After")
        return Verdict(Kind.ERROR, str(status))
    return broken(f"{status}: {content[:200]!r}")


def _of_stream(content: bytes) -> Verdict:
    """It ends in `done`, or in `error` with a body."""
    events = [event.split(b"\n", 1) for event in content.split(b"\n\n") if event.startswith(b"event: ")]
    name, data = events[-1] if events else (b"", b"")
    if name == b"event: done":
        return Verdict(Kind.SUCCESS)
    if name == b"event: error" and isinstance(json.loads(data.removeprefix(b"data: ")), dict):
        return Verdict(Kind.ERROR, "stream ended in an error")
    return broken(f"a stream that ended in {name!r}")
