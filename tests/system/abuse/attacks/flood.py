"""Sends very many requests at the same moment, over raw sockets."""

import asyncio
import itertools
import json
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tests.system.abuse.traffic import Call
from tests.system.abuse.verdicts import Kind, judge

# The server limits the requests in progress of one address.
_ADDRESSES = itertools.cycle([f"127.0.1.{number}" for number in range(1, 41)])


@dataclass
class FloodResult:
    """What came back.

    Attributes:
        requests: How many requests were sent.
        answers: How many answers had each status.
        errors: How many errors each operation had, by status.
        broken: How often each promise was broken.
        seconds: Duration of every request that was answered.
    """

    requests: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def percentile(self, percent: int) -> float:
        return statistics.quantiles(self.seconds, n=100)[percent - 1] if len(self.seconds) > 1 else 0.0


def flood(port: int, calls: Sequence[tuple[Call, Mapping[str, str]]], *, timeout: float) -> FloodResult:
    """Send all calls at once, each with its headers on a connection of its own."""
    result = FloodResult(len(calls))

    async def send_and_judge(call: Call, headers: Mapping[str, str]) -> None:
        started_at = time.monotonic()
        try:
            async with asyncio.timeout(timeout):
                status, answer_headers, content = await _send(port, call, headers)
        except TimeoutError:
            result.broken[f"{call.operation}: no answer in {timeout:.0f} s"] += 1
            return
        except (OSError, ValueError, IndexError) as error:
            result.broken[f"{call.operation}: dropped connection ({type(error).__name__})"] += 1
            return
        result.seconds.append(time.monotonic() - started_at)
        verdict = judge(call.method, call.path, status, answer_headers, content)
        if status >= 400:
            result.errors[f"{call.operation}: {status}"] += 1
        if verdict.kind is Kind.BROKEN:
            result.broken[f"{call.operation}: {verdict.reason}"] += 1
        elif status >= 500 and (status != 503 or "retry-after" not in answer_headers):
            # The contracts' own 500 is for what fails. Here nothing fails, the server only has much to do.
            result.broken[f"{call.operation}: {status} of a server that is only busy"] += 1
        else:
            result.answers[str(status)] += 1
        if verdict.kind is Kind.SUCCESS and call.on_success:
            call.on_success(json.loads(content))

    async def send_all() -> None:
        await asyncio.gather(*(send_and_judge(call, headers) for call, headers in calls))

    asyncio.run(send_all())
    return result


async def _send(port: int, call: Call, headers: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(next(_ADDRESSES), 0))
    try:
        body = b"" if call.body is None else json.dumps(call.body).encode()
        lines = {"Host": "localhost", "Connection": "close", "Content-Type": "application/json", **headers}
        lines["Content-Length"] = str(len(body))
        head = f"{call.method} {call.path} HTTP/1.1\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in lines.items()
        )
        writer.write(head.encode() + b"\r\n" + body)
        await writer.drain()
        return parse_response(await reader.read())
    finally:
        writer.close()


def parse_response(response: bytes) -> tuple[int, dict[str, str], bytes]:
    """Parse a response whose end is the end of its connection.

    Returns:
        Status, headers with names in lower case, body.
    """
    head, _, content = response.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        content = _decode_chunked(content)
    return int(first.split()[1]), headers, content


def _decode_chunked(body: bytes) -> bytes:
    content = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            break
        content, body = content + body[:length], body[length + 2 :]
    return content
