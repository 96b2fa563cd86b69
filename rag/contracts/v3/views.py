"""v3: POST /api/rag/ingest with one document, POST /api/rag/search with `query`."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.permissions import Scope
from rag.contracts.base import PostView, caller, organization, organization_to_write, validated
from rag.errors import NoAccessibleSources
from rag.services import ingestion, queries, sources

from . import errors, serializers


class V3View(PostView):
    error_handler = staticmethod(errors.handle)


class Ingest(V3View):
    scopes = {"POST": Scope.INGEST}
    error_statuses = (*V3View.error_statuses, 507)

    @extend_schema(request=serializers.IngestIn, responses={200: serializers.IngestOut})
    def post(self, request: Request) -> Response:
        values = validated(serializers.IngestIn, request.data)
        source = sources.to_ingest_or_new(
            caller(request), values["source"], organization=organization_to_write(request)
        )
        outcome = ingestion.ingest_now(source=source, submission=serializers.submission(values))
        return Response(serializers.ingest_out(outcome))


class Search(V3View):
    scopes = {"POST": Scope.QUERY}

    @extend_schema(request=serializers.SearchIn, responses={200: serializers.SearchOut})
    def post(self, request: Request) -> Response:
        values = validated(serializers.SearchIn, request.data)
        slug = values.get("filters", {}).get("source", "")
        try:
            found = queries.retrieve(
                question=serializers.question(values),
                user=caller(request),
                organization=organization(request),
                slug=slug,
            ).passages
        except NoAccessibleSources:  # not an error of this contract: there is nothing to find
            found = ()
        results = [serializers.result_out(passage) for passage in found]
        return Response({"query": values["query"], "resultCount": len(results), "results": results})
