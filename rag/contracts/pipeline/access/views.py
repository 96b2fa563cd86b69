"""Why: GET /api/rag/sources/{id}/access, and POST /api/rag/explain."""

import dataclasses

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common.base import caller, has_scope, organization, validated
from rag.contracts.common.rate_limits import QUERIES
from rag.contracts.pipeline import examples
from rag.contracts.pipeline.base import PipelineView
from rag.contracts.pipeline.queries.explain_serializers import ExplainIn, ExplainOut, explain_out
from rag.contracts.pipeline.queries.retrieve_serializers import question
from rag.contracts.pipeline.sources.access_serializers import AccessIn, AccessOut, access_out
from rag.services.access import explain
from rag.services.search import search_trace
from rag.services.sources import lookup
from ragsite.http.openapi import answered, sent


class SourceAccess(PipelineView):
    scopes = {"GET": Scope.MANAGE}
    path_names = {"reference": "id"}

    @extend_schema(
        operation_id="explainAccess",
        summary="Why somebody may use a data source, or may not",
        description="For whoever may manage the source. A person who is not a member of its organisation is answered "
        "alike, whether or not there is an account.",
        parameters=[AccessIn],
        responses={200: AccessOut},
        examples=[answered(examples.ACCESS, "Access")],
    )
    def get(self, request: Request, reference: str) -> Response:
        source = lookup.get_source_to_manage(
            caller(request), reference, organization=organization(request), refusal=lookup.MAY_NOT_EXPLAIN
        )
        asked = validated(AccessIn, request.query_params.dict())["user"]
        person = explain.person(asked, [source.organization_id], asker=caller(request))
        return Response(access_out(source, asked, explain.explain(source, person)))


class Explain(PipelineView):
    error_statuses = (*PipelineView.error_statuses, 422)
    rate_limit = QUERIES
    scopes = {"POST": Scope.MANAGE}

    @extend_schema(
        operation_id="explainSearch",
        summary="Why something is found, or not",
        description="For whoever manages data sources: how a question goes through those of them that a user may "
        "query, step by step. Others are neither counted nor named.",
        request=ExplainIn,
        responses={200: ExplainOut},
        examples=[
            sent({"query": examples.QUESTION["query"], "user": "ada@acme.example", "topK": 3}, "Question"),
            answered(examples.EXPLAINED, "Funnel"),
        ],
    )
    def post(self, request: Request) -> Response:
        values = validated(ExplainIn, request.data)
        asked = search_trace.Asked(
            asker=caller(request),
            user=values.get("user", ""),
            organization=organization(request),
            data_sources=values.get("dataSources", ()),
            document_id=values.get("document", ""),
            may_read=has_scope(request, Scope.QUERY),
        )
        wanted = dataclasses.replace(question(values), min_score=values["minScore"])
        return Response(explain_out(search_trace.explain(wanted, asked)))
