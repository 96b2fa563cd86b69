"""Requests of which one thing is much too large: refused with the contract's error, without much memory."""

import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .flood import parsed
from .judge import UNEXPECTED
from .traffic import FORM, form

# What a client may send at most here; the body goes in parts of as much.
_PART = 256 * 1024


@dataclass(frozen=True, slots=True)
class Case:
    """body: in parts, so that it need not be in memory. expected: statuses, of which one must come back."""

    name: str
    head: bytes
    body: Callable[[], Iterator[bytes]]
    expected: tuple[int, ...]


def cases(headers: dict[str, str]) -> list[Case]:
    credential = "".join(f"{name}: {value}\r\n" for name, value in headers.items())

    def request(
        name: str, body: bytes | Callable[[], Iterator[bytes]] = b"", *, path: str = "/api/rag/search",
        more: str = "Content-Type: application/json\r\n", length: int | None = None, method: str = "POST",
        expected: tuple[int, ...] = (400,),
    ) -> Case:  # fmt: skip
        parts = (lambda: iter([body])) if isinstance(body, bytes) else body
        if length is None and isinstance(body, bytes):
            length = len(body)
        framing = "Transfer-Encoding: chunked\r\n" if length is None else f"Content-Length: {length}\r\n"
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{credential}{more}{framing}\r\n"
        return Case(name, head.encode(), parts, expected)

    def written(value: object) -> bytes:
        return json.dumps(value).encode()

    many = ["x"] * 200_000
    file_head = 'Content-Disposition: form-data; name="files"; filename="{}"\r\n\r\nx\r\n'
    ingest = "/api/rag/ingest"
    multipart = f"Content-Type: {FORM['Content-Type']}\r\n"

    def parts(count: int, part: str) -> bytes:
        return (
            b"".join(b"------abuse\r\n" + part.format(number).encode() for number in range(count))
            + b"------abuse--\r\n"
        )

    return [
        request("path of 100 KB", path="/api/rag/sources/" + "a" * 100_000, method="GET", expected=(414, 431)),
        request("path of 3 KB", path="/api/rag/sources/" + "a" * 3_000, method="GET", expected=(404,)),
        request("query string of 60 KB", path="/api/rag/sources?search=" + "a" * 60_000, method="GET", expected=(414,)),
        request("query string of 1,500 fields", path="/api/rag/sources?" + "a&" * 1_500, method="GET", expected=(200, 400)),
        request("header of 20 KB", more="X-Long: " + "a" * 20_000 + "\r\n", expected=(431,)),
        request("headers of 10 MB", more="X-Long: " + "a" * 10_000_000 + "\r\n", expected=(431,)),
        request("50,000 headers", more="X: y\r\n" * 50_000, expected=(431,)),
        request("300 headers", more="X: y\r\n" * 300, expected=(431,)),
        request("credential of 7 KB", more="Authorization: Bearer " + "a" * 7_000 + "\r\n", expected=(401,)),
        request("declared body of 40 MB", length=40_000_000, expected=(413,)),
        request("declared body of 10^18", length=10**18, expected=(413,)),
        request("body of 31 MB", b'{"query": "' + b"a" * 31_000_000 + b'"}', expected=(400,)),
        request("depth of a million", b'{"query":' * 1 + b"[" * 1_000_000),
        request("array of 200,000", written({"query": "x", "filters": many})),
        request("number of 100,000 digits", b'{"query": "x", "topK": ' + b"9" * 100_000 + b"}"),
        request("200,000 keys", b"{" + b",".join(b'"k%d":1' % number for number in range(200_000)) + b"}"),
        request("question of 1 MB", written({"query": "a " * 500_000})),
        request("200,000 data sources", written({"query": "x", "dataSources": many}), path="/api/rag/retrieve"),
        request("300 messages of 100 KB", written({"messages": [{"role": "user", "content": "a" * 100_000}] * 300}), path="/api/chat"),
        request("query_text of 1 MB", written({"query_text": "a" * 1_000_000}), path="/api/rag/answer"),
        request("agent's query of 1 MB", written({"query": "a" * 1_000_000}), path="/agent/respond", expected=(400, 422)),
        request("search service's query of 1 MB", written({"query": "a" * 1_000_000}), path="/api/v1/search", expected=(400, 422)),
        request("template of 1 MB", written({"query": "x", "template": "{" * 1_000_000}), path="/api/rag/query"),
        request("text of 1 MB at once", written({"source": "local", "path": "a", "title": "a", "text": "a " * 500_000}), path=ingest, expected=(413,)),
        request("title of 1 MB", written({"source": "local", "path": "a", "title": "a" * 1_000_000, "text": "a"}), path=ingest),
        request("path of 1 MB in the body", written({"source": "local", "path": "a" * 1_000_000, "title": "a", "text": "a"}), path=ingest),
        request("metadata of 5 MB", written({"source": "local", "path": "a", "title": "a", "text": "a", "metadata": {"a": "b" * 5_000_000}}), path=ingest),
        request("100,000 tags", written({"source": "local", "path": "a", "title": "a", "text": "a", "tags": many[:100_000]}), path=ingest),
        request("job of 10,001 documents", written({"dataSourceId": "local", "documents": [{"path": str(n), "text": "a"} for n in range(10_001)]}), path=ingest, expected=(400, 413)),
        request("source's name of 1 MB", written({"name": "a" * 1_000_000}), path="/api/rag/sources"),
        request("e-mail address of 1 MB", written({"email": "a" * 1_000_000, "password": "b"}), path="/api/auth/token", expected=(413,)),
        request("file's name of 1 MB", form({"dataSourceId": "local"}, {"a" * 1_000_000: b"x"}), path=ingest, more=multipart),
        request("2,000 files", parts(2_000, file_head), path=ingest, more=multipart),
        request("2,000 fields", parts(2_000, 'Content-Disposition: form-data; name="f{}"\r\n\r\nx\r\n'), path=ingest, more=multipart),
        request("field of 40 MB", form({"dataSourceId": "a" * 40_000_000}, {}), path=ingest, more=multipart, expected=(413,)),
        request("part's header of 1 MB", parts(1, 'Content-Disposition: form-data; name="files"; filename="f{}"\r\nX: ' + "a" * 1_000_000 + "\r\n\r\nx\r\n"), path=ingest, more=multipart),
        request("upload that declares 2 GB", path=ingest, more=multipart, length=2 * 2**30, expected=(413,)),
        request("boundary of 3 KB", b"x", path=ingest, more="Content-Type: multipart/form-data; boundary=" + "b" * 3_000 + "\r\n", expected=(400, 415)),
        request("pieces without end, JSON", _pieces(60_000_000), expected=(400, 413)),
        request("pieces without end, a file", _pieces(300_000_000, b"------abuse\r\n" + file_head.format("f")[:-3].encode()), path=ingest, more=multipart, expected=(413,)),
        request("a piece that says 16^15 bytes", lambda: iter([b"f" * 15 + b"\r\n" + b"a" * 100_000]), path=ingest, expected=(400, 413)),
        request("a piece's length of 1 MB", lambda: iter([b"0" * 1_000_000 + b"\r\n"]), path=ingest, expected=(400,)),
        request("body that breaks off", b'{"query": "a', length=300_000, expected=(400,)),
        request("short body that breaks off", b'{"query": "a', length=3_000, expected=(400,)),
        request("upload that breaks off", b"------abuse\r\n" + file_head.format("f").encode(), path=ingest, more=multipart, length=3_000_000, expected=(400,)),
    ]  # fmt: skip


def _pieces(most: int, first: bytes = b'{"query": "') -> Callable[[], Iterator[bytes]]:
    """Pieces as long as the server reads them, up to `most` bytes."""

    def sent() -> Iterator[bytes]:
        yield b"%x\r\n" % len(first) + first + b"\r\n"
        piece = b"%x\r\n" % _PART + b"a" * _PART + b"\r\n"
        for _ in range(most // _PART):
            yield piece

    return sent


def tried(port: int, case: Case, *, patience: float = 60) -> tuple[int, str]:
    """The status that came back (0: none), and what is wrong with the answer; empty if nothing is."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as client:
        _sent(client, case)
        answer = b""
        try:
            while part := client.recv(65536):
                answer += part
        except TimeoutError:
            return 0, "no answer in time"
        except ConnectionError:
            pass  # an answer that came before the end of the request may be cut off behind it
    if not answer:
        return 0, "connection torn without an answer"
    status, headers, content = parsed(answer)
    if status not in case.expected:
        return status, f"not {' or '.join(map(str, case.expected))}: {content[:200]!r}"
    if UNEXPECTED in content or len(content) > 20_000:
        return status, f"an answer of {len(content)} bytes: {content[:100]!r}"
    if not headers.get("content-type", "").startswith("application/json"):
        return status, f"not JSON: {headers.get('content-type')}"
    return status, "" if isinstance(json.loads(content), dict) else "no object"


def _sent(client: socket.socket, case: Case) -> None:
    """Until it is all sent, or the server has heard enough."""
    try:
        client.sendall(case.head)
        for part in case.body():
            client.sendall(part)
        client.shutdown(socket.SHUT_WR)
    except (ConnectionError, TimeoutError):
        pass
