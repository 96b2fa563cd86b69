"""Bodies of requests in the real web server: JSON that is chunked, compressed, or with a byte-order mark; long bodies.

The memory of long bodies stays bounded, and bodies without a length are limited too. One web server serves all.
"""

import gzip
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from rag.models import DataSource, Original
from tests.support.factories import PASSWORD, World, ingest_text
from tests.support.processes.web import MB, Web
from tests.system.abuse.attacks import oversized

V3, RETRIEVAL, AGENT = {"error", "message", "details"}, {"status", "error", "message", "details"}, {"error"}
PART_BYTES = 64 * 1024
FORM = "Content-Type: multipart/form-data; boundary=b\r\n"
# Path, valid body, keys of an error.
REQUESTS: tuple[tuple[str, dict[str, Any], set[str]], ...] = (
    ("/api/auth/token", {"email": "editor@home.example", "password": PASSWORD}, V3),
    ("/api/rag/ingest", {"source": "library", "path": "a", "title": "A", "text": "Zebras have stripes."}, V3),
    ("/api/rag/ingest", {"dataSourceId": "library", "documents": [{"path": "b", "text": "Okapis."}]}, V3),
    ("/api/rag/search", {"query": "zebras"}, V3),
    ("/api/rag/search", {"query_text": "zebras"}, V3),
    ("/functions/v1/rag-search", {"query_text": "zebras"}, RETRIEVAL),
    ("/api/rag/answer", {"query_text": "zebras"}, RETRIEVAL),
    ("/api/rag/sources", {"name": "New"}, V3),
    ("/api/rag/retrieve", {"query": "zebras"}, V3),
    ("/api/rag/query", {"query": "What do zebras have?"}, V3),
    ("/agent/respond", {"query": "What do zebras have?"}, AGENT),
    ("/api/v1/search", {"query": "zebras"}, V3),
)


def chunks(body: bytes, size: int = 7) -> Iterator[bytes]:
    for start in range(0, len(body), size):
        yield body[start : start + size]


def post(web: Web, key: str, path: str, body: Any, **headers: str) -> tuple[int, Any]:
    """Send a request: chunked if the body is an iterator. http.client frames the chunks."""
    client = http.client.HTTPConnection("127.0.0.1", web.port, timeout=60)
    try:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        credential = {} if path.startswith("/api/auth") else {"X-API-Key": key}
        client.request("POST", path, body, {"Content-Type": "application/json", **credential, **names})
        response = client.getresponse()
        return response.status, json.loads(response.read())
    finally:
        client.close()


@pytest.fixture
def key(live_world: World) -> str:
    ingest_text(live_world.source(), "z", "Zebras have stripes.")
    return live_world.key("editor").secret


def test_chunked_json_is_read_by_every_contract(web: Web, key: str) -> None:
    for path, body, _ in REQUESTS:
        status, reply = post(web, key, path, chunks(json.dumps(body).encode()))
        assert status in (200, 201, 202), (path, body, reply)
    assert DataSource.objects.filter(slug="new").exists()
    status, reply = post(web, key, "/api/rag/search", iter(()))
    assert (status, reply["details"]["field"]) == (400, "query"), "an empty chunked body is an empty body"
    status, reply = post(web, key, "/api/rag/search", chunks(b'{"query": '))
    assert (status, "not valid JSON" in reply["message"]) == (400, True)


def test_chunked_json_has_the_same_limits_as_json_with_a_length(web: Web, key: str) -> None:
    too_long = b'{"query": "' + b"z" * (33 * 1024 * 1024)
    for path, _, keys in REQUESTS[1:]:
        status, reply = post(web, key, path, chunks(too_long, 1024 * 1024))
        assert (status, set(reply)) == (413, keys), (path, reply)
        message = reply["error"]["message"] if keys == AGENT else reply["message"]
        assert "RAG_MAX_BODY_BYTES" in message
    status, reply = post(web, key, "/api/auth/token", chunks(b'{"email": "' + b"z" * 70_000, 8192))
    assert (status, set(reply)) == (413, V3), "credentials are short"


def test_a_compressed_body_is_refused(web: Web, key: str) -> None:
    for path, body, keys in REQUESTS:
        for compressed in (gzip.compress(json.dumps(body).encode()), chunks(gzip.compress(json.dumps(body).encode()))):
            status, reply = post(web, key, path, compressed, Content_Encoding="gzip")
            assert (status, set(reply)) == (415, keys), (path, reply)
            message = reply["error"]["message"] if keys == AGENT else reply["message"]
            assert "compressed" in message
    content_type = "multipart/form-data; boundary=b"
    assert post(web, key, "/api/rag/ingest", b"--b--", Content_Type=content_type, Content_Encoding="br")[0] == 415
    plain = post(web, key, "/api/rag/search", b'{"query": "zebras"}', Content_Encoding="identity")
    assert plain[0] == 200


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_is_reported(web: Web, key: str, encoding: str) -> None:
    for path, body, keys in REQUESTS:
        for sent in (json.dumps(body).encode(encoding), chunks(json.dumps(body).encode(encoding))):
            status, reply = post(web, key, path, sent)
            assert (status, set(reply)) == (400, keys), (path, reply)
            message = reply["error"]["message"] if keys == AGENT else reply["message"]
            assert "byte-order mark" in message


def form(sizes: list[int]) -> Iterator[bytes]:
    yield b'--b\r\nContent-Disposition: form-data; name="dataSourceId"\r\n\r\nlibrary'
    for number, size in enumerate(sizes):
        yield b'\r\n--b\r\nContent-Disposition: form-data; name="f"; filename="%d.txt"\r\n\r\n' % number
        yield from _text(size)
    yield b"\r\n--b--\r\n"


def _text(size: int) -> Iterator[bytes]:
    part = (b"zebra " * PART_BYTES)[:PART_BYTES]
    for start in range(0, size, PART_BYTES):
        yield part[: size - start]


def framed(parts: Iterator[bytes]) -> Iterator[bytes]:
    for part in parts:
        yield b"%x\r\n%b\r\n" % (len(part), part)
    yield b"0\r\n\r\n"


def test_the_memory_of_large_bodies_is_free_after_their_requests(web: Web, live_world: World) -> None:
    """A request is in a reference cycle, and glibc keeps freed memory for each thread."""
    key = live_world.key("editor", "ingest").secret
    body = b'{"title": "' + b"x" * 12 * MB + b'"}'
    memory = []
    for _ in range(30):  # more than the server has threads
        headers = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        assert web.send(key, headers, iter([body]))[0] == 400
        memory.append(web.memory())
    assert memory[-1] - memory[0] < 5 * len(body), [size // MB for size in memory]


# A thread that needs 600 KB again and again, and the pages that it got from the system meanwhile.
SMALL_BLOCKS = """
import resource, threading

def use_memory(times):
    for _ in range(times):
        [b"x" * 50_000 for _ in range(12)]

def measure():
    use_memory(5)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    use_memory(100)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

thread = threading.Thread(target=measure)
thread.start()
thread.join()
"""


def test_freed_memory_of_small_blocks_is_used_again(web: Web) -> None:
    """To return it after each request, and get it again page by page, took a search an eighth of its time in Python.

    Measured: no page, and 11,500 with glibc's own limit of 128 KiB.
    """
    command = [sys.executable, "-c", SMALL_BLOCKS]
    pages = subprocess.run(command, env=web.environment(), capture_output=True, check=True, text=True).stdout
    assert int(pages) < 1_000


def test_long_bodies_cost_little_memory_and_have_a_limit(web: Web, live_world: World) -> None:
    """40 MB in one file or in many cost the web process a few MB (measured: 7), with and without Content-Length."""
    live_world.source()
    key = live_world.key("editor", "ingest").secret
    small_sizes, temporary_before = [1000] * 3, set(web.temporary_files.iterdir())
    assert web.send(key, f"{FORM}Transfer-Encoding: chunked", framed(form(small_sizes)))[0] == 202  # loads everything
    bytes_before = peak_bytes = web.memory()
    for sizes in ([40 * MB], [MB] * 40):
        length = sum(map(len, form(sizes)))

        def measured_form(sizes: list[int] = sizes) -> Iterator[bytes]:
            nonlocal peak_bytes
            for number, part in enumerate(form(sizes)):
                if number % 50 == 0:
                    peak_bytes = max(peak_bytes, web.memory())
                yield part

        status, job = web.send(key, f"{FORM}Content-Length: {length}", measured_form())
        assert (status, job["progress"]["documents"]) == (202, len(sizes)), job
        peak_bytes = max(peak_bytes, web.memory())
    print(f"memory of the web process rose by {(peak_bytes - bytes_before) / MB:.1f} MB")  # noqa: T201
    assert peak_bytes - bytes_before < 15 * MB
    assert sorted(Original.objects.values_list("size", flat=True)) == [1000] * 3 + [MB] * 40 + [40 * MB]
    # Nothing of a rejected request is stored.
    stored_count, file_count = Original.objects.count(), Original.objects.filter(content=None).count()
    too_much = framed(form([90 * MB, 70 * MB]))
    for headers, parts, setting in (
        (f"{FORM}Transfer-Encoding: chunked", too_much, "the limit of forms with files"),
        (f"{FORM}Content-Length: {length}", form([101 * MB]), ""),
        (f"{FORM}Content-Length: {200 * MB}", form(small_sizes), "the limit of forms with files"),
        (f"{FORM}Transfer-Encoding: chunked", framed(form([101 * MB])), "RAG_MAX_FILE_BYTES"),
        (
            "Content-Type: application/json\r\nTransfer-Encoding: chunked",
            framed(_text(40 * MB)),
            "RAG_MAX_BODY_BYTES",
        ),
    ):
        status, body = web.send(key, headers, parts)
        if setting:
            assert (status, setting in body["message"]) == (413, True), body
        else:
            assert status == 400, "a file that a wrong length cuts off is not accepted"
        assert set(body) == {"error", "message", "details"}
    assert Original.objects.count() == stored_count
    assert sum(path.is_file() for path in web.stored_files.rglob("*")) == file_count
    assert set(web.temporary_files.iterdir()) == temporary_before


def test_malformed_bodies_are_a_400_and_incomplete_ones_never_arrive(web: Web, live_world: World) -> None:
    """Malformed chunks and bodies that break off, as JSON and as a form."""
    live_world.source()
    key = live_world.key("editor", "ingest").secret
    for content_type in ("Content-Type: application/json\r\n", FORM):
        for body in (b"f" * 20 + b"\r\nabc", b"x\r\n"):
            status, answer = web.send(key, f"{content_type}Transfer-Encoding: chunked", iter([body]), closes=True)
            assert (status, set(answer)) == (400, {"error", "message", "details"}), (content_type, body)
        for headers in ("Content-Length: 100", "Content-Length: 3000000"):
            with pytest.raises(http.client.RemoteDisconnected):
                web.send(key, f"{content_type}{headers}", iter([b'{"text": "']), closes=True)
    assert not Original.objects.exists()


def test_oversized_requests_get_the_contracts_error(web: Web, live_world: World) -> None:
    """The part `oversized` of `make abuse`, which is quick and gives the same result each time."""
    live_world.source("local")
    key = live_world.key("editor").secret
    requests = oversized.cases({"X-API-Key": key})
    assert len(requests) >= 40
    problems = {case.name: problem for case in requests if (problem := oversized.send_case(web.port, case)[1])}
    assert problems == {}
    assert web.is_ready()
