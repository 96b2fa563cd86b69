"""Qdrant's REST API over the real engine, in the wheel qdrant-edge-py: one shard for each collection.

It filters, quantises and indexes as a server does. The wheel is not a dependency of the tests: see docs/contributor.md.
"""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import qdrant_edge as edge

from .qdrant_server import QdrantServer, RefusedRequest


class QdrantEdgeServer(QdrantServer):
    """A server on a free port of the loopback interface."""

    def __init__(self) -> None:
        super().__init__()
        self._shards: dict[str, Any] = {}
        self._folders: dict[str, Path] = {}

    def shards(self) -> list[tuple[Path, Any]]:
        """Return the folder and the engine of each collection."""
        return [(self._folders[name], shard) for name, shard in self._shards.items()]

    def clear(self) -> None:
        """Delete all collections."""
        for name in list(self._shards):
            self._run("DELETE ", name, {})
        super().clear()

    def _run(self, operation: str, name: str, body: dict[str, Any]) -> Any:
        match operation:
            case "GET ":
                return super()._run(operation, name, body)
            case "PUT ":
                self._folders[name] = Path(tempfile.mkdtemp())
                self._shards[name] = edge.EdgeShard.create(str(self._folders[name]), _config(body))
                return super()._run(operation, name, body)  # it checks the request, and knows which collections exist
            case "DELETE ":
                self._shards.pop(name).close()
                shutil.rmtree(self._folders.pop(name))
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
                collection = self.engine.get_collection(name)
                if any(search["using"] not in _kinds(collection.config.params) for search in body["searches"]):
                    raise RefusedRequest
                searches = self._shards[name].query_batch(
                    edge.QueryBatchRequest([_query(search) for search in body["searches"]])
                )
                return [{"points": [{"id": str(hit.id), "score": hit.score} for hit in hits]} for hits in searches]
        raise AssertionError(operation)


def _config(body: dict[str, Any]) -> Any:
    vectors = {
        name: edge.EdgeVectorParams(
            size=values["size"],
            distance=edge.Distance.Cosine,
            on_disk=values["on_disk"],
            datatype=getattr(edge.VectorStorageDatatype, values["datatype"].capitalize()),
            **(_multivector() if "multivector_config" in values else {}),
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


def _multivector() -> dict[str, Any]:
    """Return what the token vectors have beside others: no graph, and one bit for each dimension."""
    return {
        "multivector_config": edge.MultiVectorConfig(edge.MultiVectorComparator.MaxSim),
        "hnsw_config": edge.HnswIndexConfig(m=0, ef_construct=128, full_scan_threshold=10_000),
        "quantization_config": edge.BinaryQuantizationConfig(
            always_ram=False, query_encoding=edge.BinaryQuantizationQueryEncoding.Scalar8Bits
        ),
    }


def _kinds(parameters: Any) -> set[str]:
    return {*parameters.vectors, *parameters.sparse_vectors}


def _vectors(vectors: dict[str, Any]) -> dict[str, Any]:
    return {name: _vector(value) for name, value in vectors.items()}


def _vector(value: Any) -> Any:
    return edge.SparseVector(value["indices"], value["values"]) if isinstance(value, dict) else value


def _query(search: dict[str, Any]) -> Any:
    return edge.QueryRequest(
        limit=search["limit"],
        query=edge.Query.Nearest(_vector(search["query"]), using=search["using"]),
        filter=_filter(search["filter"]) if "filter" in search else None,
        params=_parameters(search),
        prefetches=[_prefetch(stated) for stated in search.get("prefetch", ())],
    )


def _prefetch(stated: dict[str, Any]) -> Any:
    return edge.Prefetch(
        limit=stated["limit"],
        query=edge.Query.Nearest(_vector(stated["query"]), using=stated["using"]),
        filter=_filter(stated["filter"]),
        params=_parameters(stated),
    )


def _parameters(search: dict[str, Any]) -> Any:
    if not (stated := search.get("params")):
        return None
    quantization = edge.QuantizationSearchParams(**stated["quantization"])
    return edge.SearchParams(hnsw_ef=stated.get("hnsw_ef"), quantization=quantization)


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
