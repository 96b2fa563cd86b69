"""Why somebody may or may not do something with a data source: GET /api/rag/sources/{id}/access."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.schema import answered
from orgs.permissions import Scope
from rag.contracts.base import caller, organization, validated
from rag.services import explanation, sources

from . import examples
from .access_serializers import AccessIn, AccessOut, access_out
from .base import PipelineView


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
        source = sources.to_manage(
            caller(request), reference, organization=organization(request), refusal=sources.MAY_NOT_EXPLAIN
        )
        asked = validated(AccessIn, request.query_params.dict())["user"]
        person = explanation.person(asked, source.organization, asker=caller(request))
        return Response(access_out(source, asked, explanation.explain(source, person)))
