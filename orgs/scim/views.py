"""/scim/v2: a directory creates, changes and deactivates the members and groups of one organisation."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from rest_framework.exceptions import NotAuthenticated
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orgs.models import Organization, ScimToken
from ragsite.http.parsers import BoundedJSONParser
from ragsite.postgres.models import as_uuid

from . import errors, filters, groups, patches, resources, users
from .errors import ScimError
from .tokens import ScimAuthentication

_BASE = "/scim/v2"


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

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if not isinstance(request.auth, ScimToken):
            raise NotAuthenticated("Send the organisation's SCIM token: Authorization: Bearer scim_…")

    def get_exception_handler(self) -> Any:
        return errors.handle_exception

    def organization(self, request: Request) -> Organization:
        token: Any = request.auth
        organization: Organization = token.organization
        return organization


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """What the endpoints of one type of resources do. `fields`: the database field of each attribute in filters."""

    fields: Mapping[str, str]
    list_rows: Callable[[Organization], QuerySet[Any]]
    get_row: Callable[[Organization, Any], Any]
    read_values: Callable[[Any], Any]
    create: Callable[[Organization, Any], Any]
    replace: Callable[[Any, Any], None]
    remove: Callable[[Any], None]
    render: Callable[[Any, str], dict[str, Any]]


USERS = ResourceKind(
    users.FIELDS,
    users.list_users,
    users.get_user,
    users.read_values,
    users.create_user,
    users.replace_user,
    users.delete_user,
    resources.render_user,
)
GROUPS = ResourceKind(
    groups.FIELDS,
    groups.list_groups,
    groups.get_group,
    groups.read_values,
    groups.create_group,
    groups.replace_group,
    groups.delete_group,
    resources.render_group,
)


class Collection(ScimView):
    """Lists and creates resources of one type."""

    kind: ResourceKind

    def get(self, request: Request) -> Response:
        rows = self.kind.list_rows(self.organization(request))
        if text := request.query_params.get("filter", ""):
            rows = rows.filter(filters.to_condition(text, self.kind.fields)).distinct()
        start = max(1, _integer(request, "startIndex", 1))
        count = min(max(0, _integer(request, "count", 100)), resources.MAX_RESULTS)
        page = [self.kind.render(row, _base(request)) for row in rows[start - 1 : start - 1 + count]]
        return Response(
            {
                "schemas": [resources.LIST_SCHEMA],
                "totalResults": rows.count(),
                "startIndex": start,
                "itemsPerPage": len(page),
                "Resources": [_select(request, body) for body in page],
            }
        )

    def post(self, request: Request) -> Response:
        organization = self.organization(request)
        row = self.kind.create(organization, self.kind.read_values(request.data))
        body = self.kind.render(self.kind.get_row(organization, row.pk), _base(request))
        return _respond(request, body, status=201)


class Single(ScimView):
    """Shows, replaces, changes and deletes one resource."""

    kind: ResourceKind

    def get(self, request: Request, pk: str) -> Response:
        body = self._body(request, pk)
        if body["meta"]["version"] in request.headers.get("If-None-Match", ""):
            return Response(status=304, headers={"ETag": body["meta"]["version"]})
        return _respond(request, body)

    def put(self, request: Request, pk: str) -> Response:
        self._check_version(request, pk)
        return self._replace(request, pk, request.data)

    def patch(self, request: Request, pk: str) -> Response:
        self._check_version(request, pk)
        before = self._before_patch(request, pk)
        return self._replace(request, pk, self._after_patch(before, patches.apply(before, request.data)))

    def delete(self, request: Request, pk: str) -> Response:
        self._check_version(request, pk)
        self.kind.remove(self._row(request, pk))
        return Response(status=204)

    def _before_patch(self, request: Request, pk: str) -> dict[str, Any]:
        return self._body(request, pk)

    def _after_patch(self, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        return after

    def _replace(self, request: Request, pk: str, body: Any) -> Response:
        self.kind.replace(self._row(request, pk), self.kind.read_values(body))
        return _respond(request, self._body(request, pk))

    def _row(self, request: Request, pk: str) -> Any:
        return self.kind.get_row(self.organization(request), as_uuid(pk))

    def _body(self, request: Request, pk: str) -> dict[str, Any]:
        return self.kind.render(self._row(request, pk), _base(request))

    def _check_version(self, request: Request, pk: str) -> dict[str, Any]:
        """Return the present resource. Raises ScimError (412) if it is not the one that If-Match names."""
        body = self._body(request, pk)
        expected = request.headers.get("If-Match", "*").strip()
        if expected != "*" and body["meta"]["version"] not in expected:
            raise ScimError(412, "It was changed in the meantime.")
        return body


class Users(Collection):
    kind = USERS


class User(Single):
    kind = USERS

    def _before_patch(self, request: Request, pk: str) -> dict[str, Any]:
        """What the directory wanted last, so that other changes do not close the membership of a suspended account."""
        return {**super()._before_patch(request, pk), "active": self._row(request, pk).is_active}

    def _after_patch(self, before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        """`name` and `displayName` show one value: whoever removes one of them removes the other, unless it was set."""
        names = {"name", "displayName"}
        if names <= after.keys() or not names <= before.keys():
            return after
        return {name: value for name, value in after.items() if name not in names or value != before[name]}


class Groups(Collection):
    kind = GROUPS


class Group(Single):
    kind = GROUPS


class Description(ScimView):
    """What the service is: its configuration, types of resources and schemas."""

    def get(self, request: Request, kind: str, name: str = "") -> Response:
        base = _base(request)
        if kind == "ServiceProviderConfig":
            return Response(resources.configuration(base))
        described = resources.resource_types(base) if kind == "ResourceTypes" else resources.schemas(base)
        if name:
            single = next((entry for entry in described if entry["id"] == name), None)
            if single is None:
                raise errors.not_found()
            return Response(single)
        counts = {"totalResults": len(described), "startIndex": 1, "itemsPerPage": len(described)}
        return Response({"schemas": [resources.LIST_SCHEMA], **counts, "Resources": described})


class Search(ScimView):
    """Queries by POST, which are not supported (RFC 7644, 3.4.3 and 3.12)."""

    def post(self, request: Request) -> Response:
        raise ScimError(501, "Queries are sent with GET.")


class Unknown(ScimView):
    """Every other path, in SCIM's format."""

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        return super().dispatch(request)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request)
        raise errors.not_found()


def _respond(request: Request, body: dict[str, Any], status: int = 200) -> Response:
    headers = {"ETag": body["meta"]["version"], "Location": body["meta"]["location"]}
    return Response(_select(request, body), status=status, headers=headers)


def _select(request: Request, body: dict[str, Any]) -> dict[str, Any]:
    """Leave out what `attributes` and `excludedAttributes` do not want (RFC 7644, 3.4.2.5)."""
    included, excluded = (_names(request, name) for name in ("attributes", "excludedAttributes"))
    always = {"schemas", "id"}
    return {
        name: value
        for name, value in body.items()
        if name in always or (name.lower() not in excluded and (not included or name.lower() in included))
    }


def _names(request: Request, parameter: str) -> set[str]:
    entries = request.query_params.get(parameter, "").lower().split(",")
    return {entry.strip().rpartition(":")[2].partition(".")[0] for entry in entries if entry.strip()}


def _integer(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, str(default))
    if not re.fullmatch(r"-?[0-9]{1,9}", text):
        raise ScimError(400, f"{name} must be an integer.", "invalidValue")
    return int(text)


def _base(request: Request) -> str:
    return request.build_absolute_uri(_BASE)
