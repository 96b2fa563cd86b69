"""An S3-compatible store on loopback: PUT, GET, HEAD and DELETE of objects, and uploads in parts, over HTTP."""

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

_MISSING = b"<Error><Code>NoSuchKey</Code><Message>as the test asked</Message></Error>"


class BucketServer:
    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}  # /bucket/key → content
        self.parts: dict[str, dict[int, bytes]] = {}  # multipart uploads: id → number → content
        self.requests: list[tuple[str, str]] = []
        self.longest = 0  # longest body of a request, in bytes
        self.down = False
        store = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # the content would wait 40 ms for the acknowledgement of the headers

            def handle_one(self) -> None:
                address = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(address.query, keep_blank_values=True).items()}
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                assert "aws-chunked" not in self.headers.get("Content-Encoding", ""), "a plain store does not know it"
                store.requests.append((self.command, address.query))
                store.longest = max(store.longest, len(body))
                signed = self.headers.get("Authorization", "").startswith("AWS4-HMAC-SHA256 Credential=test-key/")
                if store.down or not signed:
                    self._reply(503 if store.down else 403, b"<Error><Code>Refused</Code></Error>")
                    return
                status, content = store.answer(self.command, unquote(address.path), query, body)
                if status == 200 and (byte_range := self.headers.get("Range")):  # bytes=0-8388607
                    first, _, last = byte_range.removeprefix("bytes=").partition("-")
                    total, part = len(content), content[int(first) : int(last) + 1 if last else None]
                    content_range = f"bytes {first}-{int(first) + len(part) - 1}/{total}"
                    self._reply(206, part, content_range)
                    return
                self._reply(status, content)

            do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = handle_one

            def _reply(self, status: int, content: bytes, content_range: str = "") -> None:
                self.send_response(status)
                if content_range:
                    self.send_header("Content-Range", content_range)
                self.send_header("ETag", '"a"')
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, method: str, path: str, query: dict[str, str], body: bytes) -> tuple[int, bytes]:
        if method in ("GET", "HEAD"):
            content = self.objects.get(path)
            return (404, _MISSING) if content is None else (200, content)
        if method == "POST" and "uploads" in query:
            number = f"upload-{len(self.requests)}"
            self.parts[number] = {}
            xml = f"<InitiateMultipartUploadResult><UploadId>{number}</UploadId></InitiateMultipartUploadResult>"
            return 200, xml.encode()
        if method == "POST":
            parts = self.parts.pop(query["uploadId"])
            self.objects[path] = b"".join(parts[number] for number in sorted(parts))
            return 200, b"<CompleteMultipartUploadResult><ETag>x</ETag></CompleteMultipartUploadResult>"
        if method == "PUT" and "partNumber" in query:
            self.parts[query["uploadId"]][int(query["partNumber"])] = body
        elif method == "PUT":
            self.objects[path] = body
        elif "uploadId" in query:
            self.parts.pop(query["uploadId"], None)
        else:
            self.objects.pop(path, None)
        return 200 if method == "PUT" else 204, b""

    @contextmanager
    def running(self) -> Iterator["BucketServer"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
