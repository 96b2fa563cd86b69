"""Judges responses: a success, an error that the contract has, or a broken promise."""

import enum
import json
from dataclasses import dataclass

from tests.support.checks import conformance

# The message of an unexpected exception (ragsite.views.error_pages.server_error, rag.contracts.common.streaming).
UNEXPECTED = b"Something went wrong on this side"
# Paths whose contract states 500 for an unavailable model or database (docs/contracts/errors.md).
_PATHS_WITH_STATED_500 = ("/agent/", "/functions/", "/api/rag/answer", "/api/rag/search")


class Kind(enum.Enum):
    SUCCESS = "success"
    ERROR = "contract's error"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Verdict:
    kind: Kind
    reason: str = ""


def broken(reason: str) -> Verdict:
    return Verdict(Kind.BROKEN, reason)


def judge(method: str, path: str, status: int, headers: dict[str, str], content: bytes) -> Verdict:
    """Judge the response to a correct request.

    Args:
        method: HTTP method in capitals.
        path: Path of the request.
        status: HTTP status of the response.
        headers: Response headers, names in lower case.
        content: Body of the response.
    """
    if UNEXPECTED in content:
        return broken(f"{status}, an unexpected exception")
    try:
        conformance.check_response(method, path, status, headers, content)
    except (AssertionError, ValueError) as error:
        return broken(f"{status}, not as in the schema: {str(error)[:200]}")
    if status < 300:
        is_stream = headers.get("content-type", "").startswith("text/event-stream")
        return _judge_stream(content) if is_stream else Verdict(Kind.SUCCESS)
    if status == 500 and path.startswith(_PATHS_WITH_STATED_500):
        return Verdict(Kind.ERROR, "500 as the contract states it")
    if status in (429, 503):
        if path.startswith(("/api/", "/functions/")) and "retry-after" not in headers:
            return broken(f"{status} without Retry-After")
        return Verdict(Kind.ERROR, str(status))
    return broken(f"{status}: {content[:200]!r}")


def _judge_stream(content: bytes) -> Verdict:
    """A stream must end in the event `done`, or in `error` with a body."""
    events = [event.split(b"\n", 1) for event in content.split(b"\n\n") if event.startswith(b"event: ")]
    name, data = events[-1] if events else (b"", b"")
    if name == b"event: done":
        return Verdict(Kind.SUCCESS)
    if name == b"event: error" and isinstance(json.loads(data.removeprefix(b"data: ")), dict):
        return Verdict(Kind.ERROR, "stream ended in an error")
    return broken(f"a stream that ended in {name!r}")
