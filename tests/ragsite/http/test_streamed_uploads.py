"""Long request bodies in the real web server: memory stays bounded, and bodies without a length are limited too."""

import http.client
from collections.abc import Iterator

import pytest

from rag.models import Original
from tests.support.factories import World
from tests.support.web import MB, Web

PART_BYTES = 64 * 1024


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


def chunked(parts: Iterator[bytes]) -> Iterator[bytes]:
    for part in parts:
        yield b"%x\r\n%b\r\n" % (len(part), part)
    yield b"0\r\n\r\n"


FORM = "Content-Type: multipart/form-data; boundary=b\r\n"


def test_long_bodies_cost_little_memory_and_have_a_limit(web: Web, live_world: World) -> None:
    """40 MB in one file or in many cost the web process a few MB (measured: 7), with and without Content-Length."""
    live_world.source()
    key = live_world.key("editor", "ingest").secret
    small_sizes = [1000] * 3
    assert web.send(key, f"{FORM}Transfer-Encoding: chunked", chunked(form(small_sizes)))[0] == 202  # loads everything
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
    stored_count = Original.objects.count()
    too_much = chunked(form([90 * MB, 70 * MB]))
    for headers, parts, setting in (
        (f"{FORM}Transfer-Encoding: chunked", too_much, "RAG_MAX_UPLOAD_BYTES"),
        (f"{FORM}Content-Length: {length}", form([101 * MB]), ""),
        (f"{FORM}Content-Length: {200 * MB}", form(small_sizes), "RAG_MAX_UPLOAD_BYTES"),
        (f"{FORM}Transfer-Encoding: chunked", chunked(form([101 * MB])), "RAG_MAX_FILE_BYTES"),
        (
            "Content-Type: application/json\r\nTransfer-Encoding: chunked",
            chunked(_text(40 * MB)),
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
    assert sum(path.is_file() for path in web.stored_files.rglob("*")) == stored_count
    assert list(web.temporary_files.iterdir()) == []


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
