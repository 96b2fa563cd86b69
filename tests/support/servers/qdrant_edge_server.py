"""Qdrant's REST API over the real engine, in the wheel qdrant-edge-py: one shard for each collection.

It filters, quantises and indexes as a server does. The wheel is no dependency of the tests: see docs/contributor.md.
"""

import tempfile
from typing import Any

import qdrant_edge as edge

from .qdrant_server import QdrantServer


class QdrantEdgeServer(QdrantServer):
    """A server on a free port of the loopback interface."""

    def __init__(self) -> None:
        super().__init__()
        self._shards: dict[str, Any] = {}

    def clear(self) -> None:
        """Delete all collections."""
        for name in list(self._shards):
            self._run("DELETE ", name, {})
        super().clear()

    def _run(self, operation: str, name: str, body: dict[str, Any]) -> Any:
        match operation:
            case "PUT ":
                self._shards[name] = edge.EdgeShard.create(tempfile.mkdtemp(), _config(body))
                return super()._run(operation, name, body)  # it checks the request, and knows which collections exist
            case "DELETE ":
                self._shards.pop(name).close()
                return super()._run(operation, name, body)
            case "PUT /index":
                super()._run(operation, name, body)
                kind = getattr(edge.PayloadSchemaType, body["field_schema"]["type"].capitalize())
                self._shards[name].update(edge.UpdateOperation.create_field_index(body["field_name"], kind))
                return True
            case "PUT /points":
                points = [
                    edge.Point(point["id"], _vectors(point["vector"]), point["payload"]) for point in body["points"]
                ]
                self._shards[name].update(edge.UpdateOperation.upsert_points(points))
                return {}
            case "POST /points/delete":
                self._shards[name].update(edge.UpdateOperation.delete_points(body["points"]))
                return {}
            case "POST /points/scroll":
                request = edge.ScrollRequest(
                    offset=body.get("offset"),
                    limit=body["limit"],
                    filter=_filter(body["filter"]),
                    with_payload=body["with_payload"],
                )
                records, following = self._shards[name].scroll(request)
                rows = [{"id": str(record.id), "payload": record.payload} for record in records]
                return {"points": rows, "next_page_offset": following and str(following)}
            case "POST /points/query/batch":
                searches = [self._shards[name].query(_query(search)) for search in body["searches"]]
                return [{"points": [{"id": str(hit.id), "score": hit.score} for hit in hits]} for hits in searches]
        raise AssertionError(operation)


def _config(body: dict[str, Any]) -> Any:
    vectors = {
        name: edge.EdgeVectorParams(
            size=values["size"],
            distance=edge.Distance.Cosine,
            on_disk=values["on_disk"],
            datatype=edge.VectorStorageDatatype.Float16,
        )
        for name, values in body["vectors"].items()
    }
    scalar = body["quantization_config"]["scalar"]
    return edge.EdgeConfig(
        vectors=vectors,
        sparse_vectors={name: edge.EdgeSparseVectorParams() for name in body["sparse_vectors"]},
        hnsw_config=edge.HnswIndexConfig(full_scan_threshold=10_000, **body["hnsw_config"]),
        quantization_config=edge.ScalarQuantizationConfig(
            edge.ScalarType.Int8, quantile=scalar["quantile"], always_ram=scalar["always_ram"]
        ),
    )


def _vectors(vectors: dict[str, Any]) -> dict[str, Any]:
    return {name: _vector(value) for name, value in vectors.items()}


def _vector(value: Any) -> Any:
    return edge.SparseVector(value["indices"], value["values"]) if isinstance(value, dict) else value


def _query(search: dict[str, Any]) -> Any:
    parameters = None
    if stated := search.get("params"):
        quantization = edge.QuantizationSearchParams(**stated["quantization"])
        parameters = edge.SearchParams(hnsw_ef=stated["hnsw_ef"], quantization=quantization)
    return edge.QueryRequest(
        limit=search["limit"],
        query=edge.Query.Nearest(_vector(search["query"]), using=search["using"]),
        filter=_filter(search["filter"]),
        params=parameters,
    )


def _filter(stated: dict[str, Any]) -> Any:
    return edge.Filter(must=[_condition(condition) for condition in stated["must"]])


def _condition(condition: dict[str, Any]) -> Any:
    if ids := condition.get("has_id"):
        return edge.HasIdCondition(set(ids))
    if dates := condition.get("range"):
        return edge.FieldCondition(condition["key"], range=edge.RangeDateTime(**dates))
    match = condition["match"]
    chosen = edge.MatchAny(match["any"]) if "any" in match else edge.MatchValue(match["value"])
    return edge.FieldCondition(condition["key"], match=chosen)
