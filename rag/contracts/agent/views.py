"""The agent contract: POST /agent/respond, GET /agent/health."""

from django.db import OperationalError
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.access.permissions import Scope
from rag.contracts.common.base import ContractView, PostView, caller, key_of, organization, validated
from rag.contracts.common.rate_limits import AGENT_REQUESTS
from rag.services.operations import health
from rag.services.search import agent, queries
from rag.types import Question
from ragsite.http.openapi import answered, sent

from . import errors, examples
from .serializers import ErrorBody, HealthOut, RespondIn, RespondOut, health_out, respond_out, within_limits


class Respond(PostView):
    """POST /agent/respond: an answer from what the caller may read. Every failure of processing is a 500."""

    error_handler = staticmethod(errors.handle)
    error_body = ErrorBody
    error_statuses = (400, 401, 403, 413, 415, 422, 429, 500)
    budget = AGENT_REQUESTS
    scopes = {"POST": Scope.QUERY}

    @extend_schema(
        summary="Ask the agent",
        description="An answer from what the caller may read, and whether the sources carry it.",
        request=RespondIn,
        responses={200: RespondOut},
        examples=[sent(examples.REQUEST, "Question"), answered(examples.RESPONSE, "Answer")],
    )
    def post(self, request: Request) -> Response:
        values = within_limits(validated(RespondIn, request.data))
        question = Question(values["query"], top_k=values["top_k"], min_score=values["min_score"])
        reader = queries.Reader(user=caller(request), key=key_of(request), organization=organization(request))
        selected = values.get("user_selected_text") or ""
        return Response(respond_out(agent.respond(question, reader, selected if selected.strip() else "")))


class Health(ContractView):
    """GET /agent/health: 503 if something that an answer needs does not answer."""

    error_handler = staticmethod(errors.handle)
    error_body = ErrorBody
    error_statuses = (400, 401, 403, 413, 429, 500)
    budget = AGENT_REQUESTS
    scopes = {"GET": Scope.QUERY}

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
    def get(self, request: Request) -> Response:
        return _health(health.agent_checks())

    def handle_exception(self, exc: Exception) -> Response:
        if isinstance(exc, OperationalError):  # without a database nobody can even be recognised
            return _health({"language_model": None, "vector_store": False, "retrieval": False})
        return super().handle_exception(exc)


def _health(checks: dict[str, bool | None]) -> Response:
    body = health_out(checks, timezone.now())
    return Response(body, status=200 if body["status"] == "healthy" else 503)
