"""What the endpoints below /scim/v2 have in common: who calls, what they read and how they respond."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from django.db import transaction
from rest_framework.exceptions import NotAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orgs.models import Organization, ScimToken
from ragsite.http.bodies.json_types import JsonObject
from ragsite.http.bodies.parsers import BoundedJSONParser
from ragsite.postgres.locks import advisory_xact_locks

from . import errors
from .errors import ScimError
from .tokens import ScimAuthentication

_BASE = "/scim/v2"
# Those of a list: of the query, or of a body of `.search`.
Parameters = Mapping[str, str]


class ScimParser(BoundedJSONParser):
    media_type = "application/scim+json"


class ScimRenderer(JSONRenderer):
    media_type = "application/scim+json"


class ScimView(APIView):
    """Base of the endpoints: the token decides the organisation."""

    authentication_classes = (ScimAuthentication,)
    permission_classes = ()
    parser_classes = (ScimParser, BoundedJSONParser)
    renderer_classes = (ScimRenderer,)
    schema = None

    def initial(self, request: Request, *args: object, **kwargs: object) -> None:
        super().initial(request, *args, **kwargs)
        if not isinstance(request.auth, ScimToken):
            raise NotAuthenticated("Send the organisation's SCIM token: Authorization: Bearer scim_…")

    def get_exception_handler(self) -> Callable[[Exception, dict[str, object]], Response | None]:
        return errors.handle_exception

    def organization(self, request: Request) -> Organization:
        assert isinstance(request.auth, ScimToken)
        return request.auth.organization


@contextmanager
def exclusive(name: str) -> Iterator[None]:
    """Make the changes of this block in one transaction, one after the other for each name.

    Directories send several requests at once, and a PATCH writes the whole resource that it has read before.
    """
    with transaction.atomic():
        advisory_xact_locks([f"SCIM: {name}"])
        yield


def respond(request: Request, body: JsonObject, status: int = 200) -> Response:
    headers = {"ETag": body["meta"]["version"], "Location": body["meta"]["location"]}
    return Response(select(request.query_params, body), status=status, headers=headers)


def select(parameters: Parameters, body: dict[str, object]) -> dict[str, object]:
    """Leave out what `attributes` and `excludedAttributes` do not select (RFC 7644, 3.4.2.5)."""
    included, excluded = (_names(parameters, name) for name in ("attributes", "excludedAttributes"))
    always = {"schemas", "id"}
    return {
        name: value
        for name, value in body.items()
        if name in always or (name.lower() not in excluded and (not included or name.lower() in included))
    }


def _names(parameters: Parameters, name: str) -> set[str]:
    entries = parameters.get(name, "").lower().split(",")
    return {entry.strip().rpartition(":")[2].partition(".")[0] for entry in entries if entry.strip()}


def read_integer(parameters: Parameters, name: str, default: int) -> int:
    text = parameters.get(name, str(default))
    if not re.fullmatch(r"-?[0-9]{1,9}", text):
        raise ScimError(400, f"{name} must be an integer.", "invalidValue")
    return int(text)


def base_address(request: Request) -> str:
    return request.build_absolute_uri(_BASE)
