"""Requests of which one part is much too large. Each must get the contract's error and cost little memory."""

import json
import re
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.system.abuse.traffic import FORM_HEADERS, form
from tests.system.abuse.verdicts import UNEXPECTED

from .flood import parse_response

# Size of a chunk of a chunked body.
_CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Case:
    """One oversized request.

    Attributes:
        name: What is too large.
        head: Request line and headers.
        body: Returns the body in parts, so that it need not be in memory.
        expected: The response must have one of these statuses; 0 stands for no response.
        breaks_off: The client ends the connection in the middle of the body.
    """

    name: str
    head: bytes
    body: Callable[[], Iterator[bytes]]
    expected: tuple[int, ...]
    breaks_off: bool = False


def cases(headers: dict[str, str]) -> list[Case]:
    credential = "".join(f"{name}: {value}\r\n" for name, value in headers.items())

    def request(
        name: str, body: bytes | Callable[[], Iterator[bytes]] = b"", *, path: str = "/api/rag/search",
        extra_headers: str = "Content-Type: application/json\r\n", length: int | None = None, method: str = "POST",
        expected: tuple[int, ...] = (400,), breaks_off: bool = False,
    ) -> Case:  # fmt: skip
        parts = (lambda: iter([body])) if isinstance(body, bytes) else body
        if length is None and isinstance(body, bytes):
            length = len(body)
        framing = "Transfer-Encoding: chunked\r\n" if length is None else f"Content-Length: {length}\r\n"
        fixed_headers = f"Host: localhost\r\nConnection: close\r\n{credential}"
        head = f"{method} {path} HTTP/1.1\r\n{fixed_headers}{extra_headers}{framing}\r\n"
        return Case(name, head.encode(), parts, expected, breaks_off)

    def post_json(name: str, path: str, /, *expected: int, **value: object) -> Case:
        return request(name, json.dumps(value).encode(), path=path, expected=expected or (400,))

    def ingest_document(name: str, /, *expected: int, **value: object) -> Case:
        return post_json(
            name, ingest, *expected, **{"source": "local", "path": "a", "title": "a", "text": "a", **value}
        )

    def get_sources(name: str, suffix: str, *expected: int, extra_headers: str = "Accept: */*\r\n") -> Case:
        path = f"/api/rag/sources{suffix}"
        return request(name, path=path, extra_headers=extra_headers, method="GET", expected=expected)

    def upload(
        name: str, body: bytes | Callable[[], Iterator[bytes]], *expected: int, length: int | None = None
    ) -> Case:
        return request(name, body, path=ingest, extra_headers=multipart, length=length, expected=expected or (400,))

    def multipart_body(count: int, part: str) -> bytes:
        parts = b"".join(b"------abuse\r\n" + part.format(number).encode() for number in range(count))
        return parts + b"------abuse--\r\n"

    ingest, kb, mb = "/api/rag/ingest", 1_000, 1_000_000
    multipart = f"Content-Type: {FORM_HEADERS['Content-Type']}\r\n"
    many = ["x"] * 200_000
    field = 'Content-Disposition: form-data; name="f{}"\r\n\r\nx\r\n'
    file = 'Content-Disposition: form-data; name="files"; filename="{}"\r\n\r\nx\r\n'
    long_head = file.replace("\r\n\r\nx", "\r\nX: " + "a" * mb + "\r\n\r\nx")
    unfinished_form = b"------abuse\r\n" + file.format("f").encode()
    huge_chunk = b"f" * 15 + b"\r\n" + b"a" * 100 * kb
    messages = [{"role": "user", "content": "a" * 100 * kb}] * 300
    documents = [{"path": str(number), "text": "a"} for number in range(10_001)]
    keys = b"{" + b",".join(b'"k%d":1' % number for number in range(200_000)) + b"}"
    long_boundary = "Content-Type: multipart/form-data; boundary=" + "b" * 3 * kb + "\r\n"
    return [
        get_sources("path of 100 KB", "/" + "a" * 100 * kb, 414, 431),
        get_sources("path of 3 KB", "/" + "a" * 3 * kb, 404),
        get_sources("query string of 60 KB", "?search=" + "a" * 60 * kb, 414),
        get_sources("query string of 1,500 fields", "?" + "a&" * 1_500, 200, 400),
        get_sources("header of 20 KB", "", 431, extra_headers="X-Long: " + "a" * 20 * kb + "\r\n"),
        get_sources("headers of 10 MB", "", 431, extra_headers="X-Long: " + "a" * 10 * mb + "\r\n"),
        get_sources("50,000 headers", "", 431, extra_headers="X: y\r\n" * 50_000),
        get_sources("300 headers", "", 200, 431, extra_headers="X: y\r\n" * 300),
        get_sources("credential of 7 KB", "", 401, extra_headers="Authorization: Bearer " + "a" * 7 * kb + "\r\n"),
        request("Content-Length of 40 MB", length=40 * mb, expected=(413,)),
        request("Content-Length of 10^18", length=10**18, expected=(413,)),
        request("body of 31 MB", b'{"query": "' + b"a" * 31 * mb + b'"}'),
        request("a million nested arrays", b'{"query":' + b"[" * mb, expected=(413,)),
        request("500,000 nested arrays", b'{"query":' + b"[" * (mb // 2)),
        request(
            "ten million empty arrays", b'{"query": "x", "other": [' + b"[]," * (10 * mb) + b"0]}", expected=(413,)
        ),
        post_json("array of 200,000", "/api/rag/search", query="x", filters=many),
        request("number of 100,000 digits", b'{"query": "x", "topK": ' + b"9" * 100 * kb + b"}"),
        request("200,000 keys", keys),
        post_json("question of 1 MB", "/api/rag/search", query="a " * 500 * kb),
        post_json("200,000 data sources", "/api/rag/retrieve", query="x", dataSources=many),
        post_json("300 messages of 100 KB", "/api/chat", messages=messages),
        post_json("query_text of 1 MB", "/api/rag/answer", query_text="a" * mb),
        post_json("agent's query of 1 MB", "/agent/respond", 400, 422, query="a" * mb),
        post_json("search service's query of 1 MB", "/api/v1/search", 400, 422, query="a" * mb),
        post_json("template of 1 MB", "/api/rag/query", query="x", template="{" * mb),
        ingest_document("text of 1 MB in one request", 413, text="a " * 500 * kb),
        ingest_document("title of 1 MB", title="a" * mb),
        ingest_document("document's path of 1 MB", path="a" * mb),
        ingest_document("metadata of 5 MB", metadata={"a": "b" * 5 * mb}),
        ingest_document("100,000 tags", tags=many[:100_000]),
        post_json("job of 10,001 documents", ingest, 400, 413, dataSourceId="local", documents=documents),
        post_json("source's name of 1 MB", "/api/rag/sources", name="a" * mb),
        post_json("e-mail address of 1 MB", "/api/auth/token", 413, email="a" * mb, password="b"),
        upload("file's name of 1 MB", form({"dataSourceId": "local"}, {"a" * mb: b"x"})),
        upload("2,000 files", multipart_body(2_000, file)),
        upload("2,000 fields", multipart_body(2_000, field)),
        upload("field of 40 MB", form({"dataSourceId": "a" * 40 * mb}, {}), 413),
        upload("part's header of 1 MB", multipart_body(1, long_head)),
        upload("upload that declares 2 GB", b"", 413, length=2 * 2**30),
        request("boundary of 3 KB", b"x", path=ingest, extra_headers=long_boundary, expected=(400, 415)),
        request("endless chunked body, JSON", _chunked_body(60 * mb), expected=(400, 413)),
        upload("endless chunked body, a file", _chunked_body(300 * mb, unfinished_form[:-3]), 413),
        upload("chunk that declares 16^15 bytes", lambda: iter([huge_chunk]), 400, 413),
        upload("chunk size of 1 MB", lambda: iter([b"0" * mb + b"\r\n\r\n"]), 400, 422),
        request("chunk that declares 16^15 bytes, JSON", lambda: iter([huge_chunk]), path=ingest),
        request("body that breaks off", b'{"query": "a', length=300 * kb, expected=(0,), breaks_off=True),
        request("short body that breaks off", b'{"query": "a', length=3 * kb, expected=(0,), breaks_off=True),
        request(
            "upload that breaks off",
            unfinished_form,
            path=ingest,
            extra_headers=multipart,
            length=3 * mb,
            expected=(0,),
            breaks_off=True,
        ),
    ]


def _chunked_body(max_bytes: int, first: bytes = b'{"query": "') -> Callable[[], Iterator[bytes]]:
    """A chunked body that ends only after this many bytes, which is more than the server may read."""

    def chunks() -> Iterator[bytes]:
        yield b"%x\r\n" % len(first) + first + b"\r\n"
        chunk = b"%x\r\n" % _CHUNK_BYTES + b"a" * _CHUNK_BYTES + b"\r\n"
        for _ in range(max_bytes // _CHUNK_BYTES):
            yield chunk
        yield b"0\r\n\r\n"

    return chunks


def send_case(port: int, case: Case, *, timeout: float = 60) -> tuple[int, str]:
    """Send the request and check the response.

    Returns:
        The response's status (0 without a response), and what is wrong with it ("" if nothing is).
    """
    with socket.create_connection(("127.0.0.1", port), timeout=timeout) as client:
        _send_request(client, case)
        answer = b""
        try:
            while not _is_complete(answer) and (part := client.recv(65536)):
                answer += part
        except TimeoutError:
            return 0, "no answer in time"
        except ConnectionError:
            pass  # the end of a response that came before the end of the request may be missing
    if not answer and 0 in case.expected:
        return 0, ""
    if not answer:
        return 0, "dropped connection without an answer"
    status, headers, content = parse_response(answer)
    if status not in case.expected:
        return status, f"not {' or '.join(map(str, case.expected))}: {content[:200]!r}"
    if UNEXPECTED in content or len(content) > 20_000:
        return status, f"an answer of {len(content)} bytes: {content[:100]!r}"
    if not headers.get("content-type", "").startswith("application/json"):
        return status, f"not JSON: {headers.get('content-type')}"
    return status, "" if isinstance(json.loads(content), dict) else "not a JSON object"


def _is_complete(response: bytes) -> bool:
    """Return whether a response has arrived whole: nginx closes the connection seconds later if the request is not."""
    head, end, content = response.partition(b"\r\n\r\n")
    if length := re.search(rb"\r\ncontent-length: *(\d+)", head, re.IGNORECASE):
        return bool(end) and len(content) >= int(length[1])
    return content.endswith(b"\r\n0\r\n\r\n")  # the last chunk


def _send_request(client: socket.socket, case: Case) -> None:
    """Send the whole request, or as much as the server accepts."""
    try:
        client.sendall(case.head)
        for part in case.body():
            client.sendall(part)
        if case.breaks_off:
            client.shutdown(socket.SHUT_WR)
    except OSError:  # timed out, dropped or closed: the response decides
        pass
