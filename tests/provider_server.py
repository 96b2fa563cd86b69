"""The outside world: an OpenAI-compatible embedding endpoint on loopback, speaking the real protocol over HTTP.

Its vectors are made from the words of a text, so that texts with common words are near each other. Tests queue replies
to be given before it behaves: an error with headers, a stall, a body that is not what it should be.
"""

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np


class ProviderServer:
    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self.requests: list[dict[str, Any]] = []
        self.faults: list[tuple[int, dict[str, str], bytes | None]] = []
        self.stall = threading.Event()  # set: answer; cleared: keep the client waiting
        self.stall.set()
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                provider.requests.append({"path": self.path, "key": self.headers.get("Authorization"), **body})
                provider.stall.wait(10)
                status, headers, content = provider.answer(self.path, body)
                self.send_response(status)
                for name, value in {"Content-Type": "application/json", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_port}/v1"

    def fail(self, status: int, *, body: bytes | None = None, **headers: str) -> None:
        """Give this reply to the next request."""
        self.faults.append((status, {name.replace("_", "-"): value for name, value in headers.items()}, body))

    def answer(self, path: str, body: dict[str, Any]) -> tuple[int, dict[str, str], bytes]:
        if self.faults:
            status, headers, content = self.faults.pop(0)
            error = {"error": {"message": "as the test asked", "type": "test", "code": None, "param": None}}
            return status, headers, json.dumps(error).encode() if content is None else content
        if path != "/v1/embeddings":
            return 404, {}, b'{"error": {"message": "no such path"}}'
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        assert body["encoding_format"] == "float", "a plain server does not know base64"
        assert all(texts), "a plain server refuses empty inputs"
        rows = [
            {"object": "embedding", "index": index, "embedding": self._vector(text).tolist()}
            for index, text in enumerate(texts)
        ]
        rows.reverse()  # the protocol has an index because order is not promised
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        reply = {"object": "list", "model": body["model"], "data": rows, "usage": usage}
        return 200, {}, json.dumps(reply).encode()

    def _vector(self, text: str) -> np.ndarray:
        vector = np.zeros(self.dimensions)
        for word in text.lower().split() or [""]:
            seed = int.from_bytes(hashlib.sha256(word.strip(".,?!").encode()).digest()[:4], "big")
            vector += np.random.default_rng(seed).standard_normal(self.dimensions)
        return vector  # not normalised: the client has to

    @contextmanager
    def running(self) -> Iterator["ProviderServer"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self.stall.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()
