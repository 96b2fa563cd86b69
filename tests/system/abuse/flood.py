"""Very many requests at the same moment, and oversized ones: over raw sockets, as no client library would send them."""

import asyncio
import json
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .judge import Kind, judged
from .traffic import Call


@dataclass
class Flood:
    """seconds: of every request that was answered."""

    requests: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)

    def percentile(self, share: int) -> float:
        return statistics.quantiles(self.seconds, n=100)[share - 1] if len(self.seconds) > 1 else 0.0


def flood(port: int, calls: Sequence[tuple[Call, Mapping[str, str]]], *, patience: float) -> Flood:
    """All of them at once, each on a connection of its own, with its credential."""
    result = Flood(len(calls))

    async def one(call: Call, headers: Mapping[str, str]) -> None:
        begun = time.monotonic()
        try:
            async with asyncio.timeout(patience):
                status, found, content = await _asked(port, call, headers)
        except TimeoutError:
            result.broken[f"{call.operation}: no answer in {patience:.0f} s"] += 1
            return
        except (OSError, ValueError, IndexError) as error:
            result.broken[f"{call.operation}: connection torn ({type(error).__name__})"] += 1
            return
        result.seconds.append(time.monotonic() - begun)
        verdict = judged(call.method, call.path, status, found, content)
        if verdict.kind is Kind.BROKEN:
            result.broken[f"{call.operation}: {verdict.why}"] += 1
        else:
            result.answers[str(status)] += 1
        if verdict.kind is Kind.SUCCESS and call.done:
            call.done(json.loads(content))

    async def all_of_them() -> None:
        await asyncio.gather(*(one(*each) for each in calls))

    asyncio.run(all_of_them())
    return result


async def _asked(port: int, call: Call, headers: Mapping[str, str]) -> tuple[int, dict[str, str], bytes]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        body = b"" if call.body is None else json.dumps(call.body).encode()
        lines = {"Host": "localhost", "Connection": "close", "Content-Type": "application/json", **headers}
        lines["Content-Length"] = str(len(body))
        head = f"{call.method} {call.path} HTTP/1.1\r\n" + "".join(
            f"{name}: {value}\r\n" for name, value in lines.items()
        )
        writer.write(head.encode() + b"\r\n" + body)
        await writer.drain()
        return parsed(await reader.read())
    finally:
        writer.close()


def parsed(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    """An answer that ended with its connection."""
    head, _, content = answer.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        content = _joined(content)
    return int(first.split()[1]), headers, content


def _joined(pieces: bytes) -> bytes:
    content = b""
    while pieces:
        size, _, pieces = pieces.partition(b"\r\n")
        length = int(size, 16)
        if not length:
            break
        content, pieces = content + pieces[:length], pieces[length + 2 :]
    return content
