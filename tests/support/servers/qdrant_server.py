"""Qdrant's REST API over the local mode of qdrant-client, whose models check each request. It is not a real server.

It answers the requests that the store sends. `is_down` makes it refuse all of them, `refused_documents` those that
write points of these documents, and `drops` makes it close the connection instead of answering that many. What fails in
it is in `errors`.
"""

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pydantic import BaseModel

from tests.support.speed.deferred import qdrant_client

_PATH = re.compile(r"/collections(?:/(?P<name>[^/?]+))?(?P<rest>[^?]*)")


class RefusedRequest(Exception):
    """The content of a request is wrong."""


class QdrantServer:
    """A server on a free port of the loopback interface."""

    def __init__(self) -> None:
        self.engine = qdrant_client.QdrantClient(":memory:")
        self.is_down = False
        self.drops = 0
        self.refused_documents: set[str] = set()
        self.errors: list[Exception] = []
        self.requests: list[str] = []
        self._lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            # One packet for each response. The second of two would wait 40 ms for the acknowledgement of the first.
            wbufsize = -1

            def _respond(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length) or b"{}")
                if server.drops:
                    server.drops -= 1
                    self.close_connection = True
                    return
                try:
                    status, result = server.answer(self.command, self.path, body)
                except RefusedRequest:
                    status, result = 400, None
                except Exception as error:
                    server.errors.append(error)
                    status, result = 500, None
                content = json.dumps({"result": result, "status": "ok", "time": 0}).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_PUT = do_POST = do_DELETE = _respond  # names that the base class calls

            def log_message(self, *args: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def clear(self) -> None:
        """Delete all collections."""
        with self._lock:
            for collection in self.engine.get_collections().collections:
                self.engine.delete_collection(collection.name)

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """Return the status and the result of a request."""
        match = _PATH.match(path)
        assert match, path
        name, operation = match["name"], f"{method} {match['rest']}"
        with self._lock:
            self.requests.append(operation)
            if self.is_down:
                return 503, None
            if name is None:
                return 200, self.engine.get_collections().model_dump(mode="json")
            if operation != "PUT " and not self.engine.collection_exists(name):
                return 404, None
            if operation == "PUT /points" and self.refused_documents & {
                point["payload"]["document"] for point in body["points"]
            }:
                return 400, None
            return 200, _dump(self._run(operation, name, body))

    def _run(self, operation: str, name: str, body: dict[str, Any]) -> Any:
        engine, models = self.engine, qdrant_client.models
        match operation:
            case "GET ":
                return engine.get_collection(name)
            case "PUT ":
                settings = models.CreateCollection.model_validate(body)
                return engine.create_collection(
                    name, vectors_config=settings.vectors, sparse_vectors_config=settings.sparse_vectors
                )
            case "DELETE ":
                return engine.delete_collection(name)
            case "PUT /index":
                models.CreateFieldIndex.model_validate(body)
                return True
            case "PUT /points":
                return engine.upsert(name, models.PointsList.model_validate(body).points)
            case "POST /points/delete":
                return engine.delete(name, models.PointIdsList.model_validate(body).points)
            case "POST /points/scroll":
                page = models.ScrollRequest.model_validate(body)
                records, following = engine.scroll(
                    name,
                    page.filter,
                    limit=page.limit or 10,
                    offset=page.offset,
                    with_payload=page.with_payload or False,
                )
                return {"points": _dump(records), "next_page_offset": following}
            case "POST /points/query/batch":
                requests = models.QueryRequestBatch.model_validate(body).searches
                try:
                    return engine.query_batch_points(name, requests)
                except ValueError:  # a vector that the collection does not have
                    raise RefusedRequest from None
        raise AssertionError(operation)

    @contextlib.contextmanager
    def running(self) -> Iterator["QdrantServer"]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()


def _dump(result: Any) -> Any:
    if isinstance(result, list):
        return [_dump(part) for part in result]
    return result.model_dump(mode="json") if isinstance(result, BaseModel) else result
