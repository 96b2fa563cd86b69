"""Qdrant's REST API: the few requests that the store sends (https://api.qdrant.tech)."""

import contextlib
import functools
import json
import math
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import httpx2

from rag.errors import IndexUnavailable
from rag.providers.http.bounded_responses import BoundedClient, read_all
from ragsite.http.bodies.json_types import JsonObject


class CollectionMissing(IndexUnavailable):
    """Qdrant has no collection of this name."""


class ContentRefused(IndexUnavailable):
    """Qdrant refuses what was sent, and would refuse it again."""


# The statuses that depend on the content of a request, not on its sender or the state of the server.
_CONTENT_STATUSES = (400, 413, 422)


class QdrantClient:
    """Sends requests to a server of Qdrant over connections that stay open. Several threads may use one client."""

    def __init__(self, url: str, *, api_key: str, timeout: float) -> None:
        self._url = url.rstrip("/")
        self._headers = {"api-key": api_key} if api_key else {}
        self._timeout = timeout

    def collections(self) -> set[str]:
        """Return the names of all collections."""
        result = self._send("GET", "/collections")
        with _reading_response():
            return {row["name"] for row in result["collections"]}

    def create_collection(self, name: str, settings: JsonObject, indexes: Mapping[str, JsonObject]) -> None:
        """Create a collection with payload indexes. Another process may create the same one at the same time."""
        try:
            self._send("PUT", f"/collections/{name}", settings)
        except IndexUnavailable:
            if name not in self.collections():
                raise
        for field, schema in indexes.items():
            self._send("PUT", f"/collections/{name}/index?wait=true", {"field_name": field, "field_schema": schema})

    def delete_collection(self, name: str) -> None:
        """Delete a collection with its points.

        Raises:
            IndexUnavailable: If the server does not answer, or refuses.
        """
        self._send("DELETE", f"/collections/{name}")

    def has_vector(self, collection: str, vector: str) -> bool:
        """Return whether the collection was created with this kind of vector."""
        result = self._send("GET", f"/collections/{collection}")
        with _reading_response():
            return vector in result["config"]["params"]["vectors"]

    def query(self, collection: str, searches: Sequence[JsonObject]) -> list[dict[uuid.UUID, float]]:
        """Run the searches in one request, and return id → score of what each of them has found, best first."""
        results = self._send("POST", f"/collections/{collection}/points/query/batch", {"searches": list(searches)})
        with _reading_response():
            # Distinct ids, and at most as many as requested, because PostgreSQL looks up each of them.
            return [
                {uuid.UUID(point["id"]): _finite(point["score"]) for point in result["points"][: search["limit"]]}
                for search, result in zip(searches, results, strict=True)
            ]

    def scroll(
        self, collection: str, *, conditions: Sequence[JsonObject], field: str, limit: int, offset: uuid.UUID | None
    ) -> tuple[dict[uuid.UUID, str], uuid.UUID | None]:
        """Return up to `limit` points as id → a field of the payload, and where to continue; None at the end."""
        body: JsonObject = {
            "filter": {"must": list(conditions)},
            "limit": limit,
            "with_payload": [field],
            "with_vector": False,
        }
        if offset:
            body["offset"] = str(offset)
        page = self._send("POST", f"/collections/{collection}/points/scroll", body)
        with _reading_response():
            points = {uuid.UUID(point["id"]): str((point["payload"] or {}).get(field, "")) for point in page["points"]}
            following = uuid.UUID(page["next_page_offset"]) if page.get("next_page_offset") else None
            if offset and following and following <= offset:
                raise ValueError("The pages do not go on.")
            return points, following

    def upsert(self, collection: str, points: Sequence[JsonObject]) -> None:
        """Write points; searches find them when this returns."""
        self._send("PUT", f"/collections/{collection}/points?wait=true", {"points": list(points)})

    def delete(self, collection: str, ids: Sequence[uuid.UUID]) -> None:
        """Delete points. Those that do not exist are ignored."""
        self._send("POST", f"/collections/{collection}/points/delete?wait=true", {"points": [str(pk) for pk in ids]})

    def _send(self, method: str, path: str, body: JsonObject | None = None) -> Any:
        try:
            request = self._client.build_request(method, self._url + path, json=body, headers=self._headers)
            with _reading_response(), contextlib.closing(self._open(request)) as response:
                if response.status_code == httpx2.codes.NOT_FOUND:
                    raise CollectionMissing("The search index (Qdrant) has no collection for this embedding model.")
                response.raise_for_status()
                return json.loads(read_all(response.iter_raw()))["result"]
        except httpx2.HTTPStatusError as error:
            status = error.response.status_code
            failure = ContentRefused if status in _CONTENT_STATUSES else IndexUnavailable
            raise failure(f"The search index (Qdrant) refused a request ({status}).") from error
        except httpx2.HTTPError as error:
            raise IndexUnavailable("The search index (Qdrant) does not answer.") from error

    def _open(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, once more if the connection closes before the response.

        Qdrant or what balances its load may close a kept connection at the moment when it is used again. Every request
        has the same effect if it comes twice.
        """
        try:
            return self._client.send(request, stream=True)
        except (httpx2.RemoteProtocolError, httpx2.ReadError):  # closed in order, and reset
            return self._client.send(request, stream=True)

    @functools.cached_property
    def _client(self) -> BoundedClient:
        return BoundedClient(timeout=self._timeout)


def _finite(score: float) -> float:
    if not math.isfinite(score):
        raise ValueError("A score must be finite.")
    return float(score)


@contextlib.contextmanager
def _reading_response() -> Iterator[None]:
    """Raise IndexUnavailable if the block cannot read a response, as if Qdrant had not answered."""
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise IndexUnavailable("The search index (Qdrant) answered with something that cannot be read.") from error
