"""The site, with a view at a path of each contract that does nothing but what all contracts' views share."""

from dataclasses import dataclass
from typing import Any

from django.urls import path
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import User
from orgs.models import Organization
from orgs.permissions import Scope
from rag.contracts.agent import errors as agent
from rag.contracts.base import PostView, validated
from rag.contracts.limits import AGENT_REQUESTS, QUERIES, SERVICE_SEARCHES
from rag.contracts.retrieval import errors as retrieval
from rag.contracts.search_service import errors as search_service
from rag.contracts.v3.serializers import SearchIn
from ragsite import urls


@dataclass(frozen=True)
class Key:
    """What the limits ask an API key for."""

    pk: str
    organization: Organization
    scopes: tuple[str, ...] = ("query",)


class KeyAuthentication(BaseAuthentication):
    """`X-Probe-Key: <pk> <e-mail address> <organisation's slug> <scope>`."""

    def authenticate(self, request: Request) -> Any:
        sent = request.headers.get("X-Probe-Key", "").split()
        if not sent:
            return None
        pk, email, slug, scope = sent
        return User.objects.get(email=email), Key(pk, Organization.objects.get(slug=slug), (scope,))


class Probe(PostView):
    authentication_classes = (*PostView.authentication_classes, KeyAuthentication)
    scopes = {"POST": Scope.QUERY}

    def post(self, request: Request) -> Response:
        if request.data == {"boom": True}:
            raise RuntimeError("password=hunter2")
        return Response(validated(SearchIn, request.data))


class Agent(Probe):
    error_handler = staticmethod(agent.handle)
    budget = AGENT_REQUESTS


class Retrieval(Probe):
    error_handler = staticmethod(retrieval.handle)
    budget = QUERIES


class SearchService(Probe):
    error_handler = staticmethod(search_service.handle)
    budget = SERVICE_SEARCHES


urlpatterns = [
    path("agent/respond", Agent.as_view()),
    path("functions/v1/rag-search", Retrieval.as_view()),
    path("api/v1/search", SearchService.as_view()),
    *urls.urlpatterns,
]
handler404, handler500, handler400 = urls.handler404, urls.handler500, urls.handler400
