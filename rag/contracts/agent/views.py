"""The agent contract: POST /agent/respond, GET /agent/health."""

from django.db import OperationalError
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common.base import ContractViewSet, get_caller, organization, validated
from rag.contracts.common.rate_limits import AGENT_REQUESTS
from rag.services.operations import health
from rag.services.search import agent, queries
from rag.types import Question
from ragsite.http.openapi import answered, sent

from . import errors, examples
from .serializers import ErrorBody, HealthOut, RespondIn, RespondOut, health_out, respond_out, within_limits


class Agent(ContractViewSet):
    """Grounded answers by the agent, and the state of the services that they need."""

    error_handler = staticmethod(errors.handle)
    error_body = ErrorBody
    rate_limit = AGENT_REQUESTS
    scopes = {"POST": Scope.QUERY, "GET": Scope.QUERY}

    @extend_schema(
        operation_id="agentRespond",
        summary="Ask the agent",
        description="An answer from what the caller may read, and whether the sources carry it.",
        request=RespondIn,
        responses={200: RespondOut},
        examples=[sent(examples.REQUEST, "Question"), answered(examples.RESPONSE, "Answer")],
    )
    @action(detail=False, methods=["post"], error_statuses=(400, 401, 403, 413, 415, 422, 429, 500))
    def respond(self, request: Request) -> Response:
        values = within_limits(validated(RespondIn, request.data))
        question = Question(values["query"], top_k=values["top_k"], min_score=values["min_score"])
        reader = queries.SourceSelection(caller=get_caller(request), organization=organization(request))
        selected = values.get("user_selected_text") or ""
        return Response(respond_out(agent.respond(question, reader, selected if selected.strip() else "")))

    @extend_schema(
        operation_id="agentHealth",
        summary="Whether the agent can answer",
        description="503 if something that an answer needs does not answer.",
        responses={200: HealthOut, 503: HealthOut},
        examples=[
            answered(examples.HEALTHY, "Healthy"),
            answered({**examples.HEALTHY, "status": "unhealthy", "qdrant_connected": False}, "Unhealthy", status=503),
        ],
    )
    @action(detail=False, error_statuses=(400, 401, 403, 413, 429, 500))
    def health(self, request: Request) -> Response:
        return _health(health.check_agent_components())

    def handle_exception(self, exc: Exception) -> Response:
        # Without the database not even the caller can be authenticated.
        if isinstance(exc, OperationalError) and self.action == "health":
            return _health({"language_model": None, "vector_store": False, "retrieval": False})
        return super().handle_exception(exc)


def _health(checks: dict[str, bool | None]) -> Response:
    body = health_out(checks, timezone.now())
    return Response(body, status=200 if body["status"] == "healthy" else 503)
