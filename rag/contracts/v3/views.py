"""v3: POST /api/rag/ingest with one document, POST /api/rag/search with `query`."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.schema import COMMON_STATUSES, answered, sent
from orgs.permissions import Scope
from rag.contracts.base import PostView, caller, organization, organization_to_write, validated
from rag.contracts.limits import QUERIES
from rag.services import ingestion, queries, sources

from . import errors, serializers


class V3View(PostView):
    error_handler = staticmethod(errors.handle)


# Of the contract's own commands and bodies (2.1, 2.2).
_DOCUMENT = {"source": "github", "path": "/doc", "title": "Test", "text": "Content", "tags": ["docs"]}
_INGESTED = {"status": "created", "documentId": "0198c5c0-5d3a-7c5f-9d2e-3b1f0a7c4e11", "chunkCount": 1}
_RESULT = {
    "text": "Content",
    "score": 0.71,
    "metadata": {
        "documentId": _INGESTED["documentId"],
        "source": "github",
        "path": "/doc",
        "title": "Test",
        "chunkIndex": 0,
        "tags": ["docs"],
    },
}


class Ingest(V3View):
    scopes = {"POST": Scope.INGEST}
    error_statuses = (*COMMON_STATUSES, 422, 507)

    @extend_schema(
        summary="Send one document and wait",
        description="The document is searchable when this answers.",
        request=serializers.IngestIn,
        responses={200: serializers.IngestOut},
        examples=[sent(_DOCUMENT, "Document"), answered(_INGESTED, "Document")],
    )
    def post(self, request: Request) -> Response:
        values = validated(serializers.IngestIn, request.data)
        source = sources.to_ingest_or_new(
            caller(request), values["source"], organization=organization_to_write(request)
        )
        outcome = ingestion.ingest_now(source=source, submission=serializers.submission(values))
        return Response(serializers.ingest_out(outcome))


class Search(V3View):
    budget = QUERIES
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        summary="Search passages",
        description="The passages that are most similar to the query, by descending cosine similarity.",
        request=serializers.SearchIn,
        responses={200: serializers.SearchOut},
        examples=[
            sent({"query": "test query", "topK": 5}, "Search"),
            answered({"query": "test query", "resultCount": 1, "results": [_RESULT]}, "Passages"),
        ],
    )
    def post(self, request: Request) -> Response:
        values = validated(serializers.SearchIn, request.data)
        slug = values.get("filters", {}).get("source", "")
        reader = queries.Reader(user=caller(request), organization=organization(request), slug=slug)
        found = queries.search(serializers.question(values), reader).passages
        results = [serializers.result_out(passage) for passage in found]
        return Response({"query": values["query"], "resultCount": len(results), "results": results})
