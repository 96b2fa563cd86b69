"""The agent contract: POST /agent/respond, GET /agent/health."""

from django.db import OperationalError
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common.base import ContractViewSet, get_caller, organization, validate
from rag.contracts.common.rate_limits import AGENT_REQUESTS
from rag.services.operations import readiness_checks
from rag.services.queries import agent
from rag.services.queries.source_selection import SourceSelection
from rag.types import Question
from ragsite.http.openapi import request_example, response_example

from . import error_format, examples
from .serializers import ErrorBody, HealthOut, RespondIn, RespondOut, check_lengths, health_out, respond_out


class Agent(ContractViewSet):
    """Grounded answers by the agent, and the state of the services that they need."""

    error_handler = staticmethod(error_format.handle_exception)
    error_body = ErrorBody
    rate_limit = AGENT_REQUESTS
    scopes = {"POST": Scope.QUERY, "GET": Scope.QUERY}

    @extend_schema(
        operation_id="agentRespond",
        summary="Ask the agent",
        description="Answers from the data sources that the caller may query and says whether they support the answer.",
        request=RespondIn,
        responses={200: RespondOut},
        examples=[request_example(examples.REQUEST, "Question"), response_example(examples.RESPONSE, "Answer")],
    )
    @action(detail=False, methods=["post"], error_statuses=(400, 401, 403, 413, 415, 422, 429, 500))
    def respond(self, request: Request) -> Response:
        values = check_lengths(validate(RespondIn, request.data))
        question = Question(values["query"], top_k=values["top_k"], min_score=values["min_score"])
        selection = SourceSelection(caller=get_caller(request), organization=organization(request))
        selected_text = values.get("user_selected_text") or ""
        return Response(respond_out(agent.respond(question, selection, selected_text if selected_text.strip() else "")))

    @extend_schema(
        operation_id="agentHealth",
        summary="Check the agent's health",
        description="503 if a service that answers depend on is unavailable.",
        responses={200: HealthOut, 503: HealthOut},
        examples=[
            response_example(examples.HEALTHY, "Healthy"),
            response_example(
                {**examples.HEALTHY, "status": "unhealthy", "qdrant_connected": False}, "Unhealthy", status=503
            ),
        ],
    )
    @action(detail=False, error_statuses=(400, 401, 403, 413, 429, 500))
    def health(self, request: Request) -> Response:
        return _health_response(readiness_checks.check_agent_components())

    def handle_exception(self, exc: Exception) -> Response:
        # Without the database not even the caller can be authenticated.
        if isinstance(exc, OperationalError) and self.action == "health":
            return _health_response({"language_model": None, "vector_store": False, "retrieval": False})
        return super().handle_exception(exc)


def _health_response(checks: dict[str, bool | None]) -> Response:
    body = health_out(checks, timezone.now())
    return Response(body, status=200 if body["status"] == "healthy" else 503)
