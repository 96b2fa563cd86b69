"""A server on loopback that receives webhooks and checks their signatures, independently of the product's code."""

import base64
import hashlib
import hmac
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class WebhookReceiver:
    """Answers with the queued `statuses`, then with 204. `location`: where redirects point to."""

    def __init__(self) -> None:
        self.received: list[dict[str, Any]] = []
        self.statuses: list[int] = []
        self.location = ""
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                receiver.received.append({"path": self.path, "headers": headers, "body": body, **json.loads(body)})
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
                if receiver.location:
                    self.send_header("Location", receiver.location)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/hook"

    @contextmanager
    def running(self) -> Iterator["WebhookReceiver"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()


def valid_signatures(message: dict[str, Any], secret: str) -> int:
    """How many signatures of a received message were made with this secret."""
    headers: dict[str, str] = message["headers"]
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + message["body"]
    digest = hmac.new(base64.b64decode(secret.removeprefix("whsec_")), signed, hashlib.sha256).digest()
    return headers["webhook-signature"].split(" ").count(f"v1,{base64.b64encode(digest).decode()}")
