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

    def says(name: str, target: str, /, *expected: int, **value: object) -> Case:
        return request(name, json.dumps(value).encode(), path=target, expected=expected or (400,))

    def sends(name: str, /, *expected: int, **value: object) -> Case:
        """A document."""
        return says(name, ingest, *expected, **{"source": "local", "path": "a", "title": "a", "text": "a", **value})

    def asks(name: str, target: str, *expected: int, more: str = "") -> Case:
        """Without a body."""
        kept = more or "Accept: */*\r\n"
        return request(name, path=f"/api/rag/sources{target}", more=kept, method="GET", expected=expected)

    def uploads(
        name: str, body: bytes | Callable[[], Iterator[bytes]], *expected: int, length: int | None = None
    ) -> Case:
        return request(name, body, path=ingest, more=multipart, length=length, expected=expected or (400,))

    def parts(count: int, part: str) -> bytes:
        written = b"".join(b"------abuse\r\n" + part.format(number).encode() for number in range(count))
        return written + b"------abuse--\r\n"

    ingest, kb, mb = "/api/rag/ingest", 1_000, 1_000_000
    multipart = f"Content-Type: {FORM['Content-Type']}\r\n"
    many = ["x"] * 200_000
    field = 'Content-Disposition: form-data; name="f{}"\r\n\r\nx\r\n'
    file = 'Content-Disposition: form-data; name="files"; filename="{}"\r\n\r\nx\r\n'
    long_head = file.replace("\r\n\r\nx", "\r\nX: " + "a" * mb + "\r\n\r\nx")
    begun = b"------abuse\r\n" + file.format("f").encode()
    messages = [{"role": "user", "content": "a" * 100 * kb}] * 300
    documents = [{"path": str(number), "text": "a"} for number in range(10_001)]
    keys = b"{" + b",".join(b'"k%d":1' % number for number in range(200_000)) + b"}"
    long_boundary = "Content-Type: multipart/form-data; boundary=" + "b" * 3 * kb + "\r\n"
    return [
        asks("path of 100 KB", "/" + "a" * 100 * kb, 414, 431),
        asks("path of 3 KB", "/" + "a" * 3 * kb, 404),
        asks("query string of 60 KB", "?search=" + "a" * 60 * kb, 414),
        asks("query string of 1,500 fields", "?" + "a&" * 1_500, 200, 400),
        asks("header of 20 KB", "", 431, more="X-Long: " + "a" * 20 * kb + "\r\n"),
        asks("headers of 10 MB", "", 431, more="X-Long: " + "a" * 10 * mb + "\r\n"),
        asks("50,000 headers", "", 431, more="X: y\r\n" * 50_000),
        asks("300 headers", "", 431, more="X: y\r\n" * 300),
        asks("credential of 7 KB", "", 401, more="Authorization: Bearer " + "a" * 7 * kb + "\r\n"),
        request("declared body of 40 MB", length=40 * mb, expected=(413,)),
        request("declared body of 10^18", length=10**18, expected=(413,)),
        request("body of 31 MB", b'{"query": "' + b"a" * 31 * mb + b'"}'),
        request("depth of a million", b'{"query":' + b"[" * mb),
        says("array of 200,000", "/api/rag/search", query="x", filters=many),
        request("number of 100,000 digits", b'{"query": "x", "topK": ' + b"9" * 100 * kb + b"}"),
        request("200,000 keys", keys),
        says("question of 1 MB", "/api/rag/search", query="a " * 500 * kb),
        says("200,000 data sources", "/api/rag/retrieve", query="x", dataSources=many),
        says("300 messages of 100 KB", "/api/chat", messages=messages),
        says("query_text of 1 MB", "/api/rag/answer", query_text="a" * mb),
        says("agent's query of 1 MB", "/agent/respond", 400, 422, query="a" * mb),
        says("search service's query of 1 MB", "/api/v1/search", 400, 422, query="a" * mb),
        says("template of 1 MB", "/api/rag/query", query="x", template="{" * mb),
        sends("text of 1 MB at once", 413, text="a " * 500 * kb),
        sends("title of 1 MB", title="a" * mb),
        sends("document's path of 1 MB", path="a" * mb),
        sends("metadata of 5 MB", metadata={"a": "b" * 5 * mb}),
        sends("100,000 tags", tags=many[:100_000]),
        says("job of 10,001 documents", ingest, 400, 413, dataSourceId="local", documents=documents),
        says("source's name of 1 MB", "/api/rag/sources", name="a" * mb),
        says("e-mail address of 1 MB", "/api/auth/token", 413, email="a" * mb, password="b"),
        uploads("file's name of 1 MB", form({"dataSourceId": "local"}, {"a" * mb: b"x"})),
        uploads("2,000 files", parts(2_000, file)),
        uploads("2,000 fields", parts(2_000, field)),
        uploads("field of 40 MB", form({"dataSourceId": "a" * 40 * mb}, {}), 413),
        uploads("part's header of 1 MB", parts(1, long_head)),
        uploads("upload that declares 2 GB", b"", 413, length=2 * 2**30),
        request("boundary of 3 KB", b"x", path=ingest, more=long_boundary, expected=(400, 415)),
        request("pieces without end, JSON", _pieces(60 * mb), expected=(400, 413)),
        uploads("pieces without end, a file", _pieces(300 * mb, begun[:-3]), 413),
        uploads("a piece that says 16^15 bytes", lambda: iter([b"f" * 15 + b"\r\n" + b"a" * 100 * kb]), 400, 413),
        uploads("a piece's length of 1 MB", lambda: iter([b"0" * mb + b"\r\n"])),
        request("no piece, JSON", lambda: iter([b"f" * 15 + b"\r\n" + b"a" * 100 * kb]), path=ingest),
        request("body that breaks off", b'{"query": "a', length=300 * kb),
        request("short body that breaks off", b'{"query": "a', length=3 * kb),
        uploads("upload that breaks off", begun, length=3 * mb),
    ]


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
    except OSError:  # in time or not, torn, or closed already
        pass
