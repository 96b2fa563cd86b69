"""/scim/v2: a directory creates, changes and deactivates the members and groups of one organisation."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db.models import Model
from rest_framework.request import Request
from rest_framework.response import Response

from ragsite.http.bodies.json_types import JsonObject
from ragsite.postgres.models import as_uuid

from . import patches
from .base_views import ScimView, base_address, exclusive, respond
from .errors import ScimError
from .resource_lists import GROUPS, USERS, AnyKind, list_resources


class ResourceList(ScimView):
    """Lists and creates resources of one type."""

    kind: AnyKind

    def get(self, request: Request) -> Response:
        return list_resources(request, self.organization(request), [self.kind], request.query_params)

    def post(self, request: Request) -> Response:
        organization = self.organization(request)
        with exclusive(f"new resources of {organization.pk}"):
            row = self.kind.create(organization, self.kind.read_values(request.data))
            body = self.kind.render(self.kind.get_row(organization, row.pk), base_address(request))
        return respond(request, body, status=201)


class ResourceDetail(ScimView):
    """Shows, replaces, changes and deletes one resource."""

    kind: AnyKind

    def get(self, request: Request, pk: str) -> Response:
        body = self._body(request, pk)
        if body["meta"]["version"] in request.headers.get("If-None-Match", ""):
            return Response(status=304, headers={"ETag": body["meta"]["version"]})
        return respond(request, body)

    def put(self, request: Request, pk: str) -> Response:
        with self._exclusive(request, pk):
            return self._replace(request, pk, request.data)

    def patch(self, request: Request, pk: str) -> Response:
        with self._exclusive(request, pk):
            before = self._attributes_to_patch(request, pk)
            after = self._resolve_conflicts(before, patches.apply(before, request.data))
            return self._replace(request, pk, after)

    def delete(self, request: Request, pk: str) -> Response:
        with self._exclusive(request, pk):
            self.kind.remove(self._row(request, pk))
        return Response(status=204)

    @contextmanager
    def _exclusive(self, request: Request, pk: str) -> Iterator[None]:
        """Let other writers of the resource wait. Raise ScimError (412, 404) if it has another version, or is none."""
        with exclusive(f"resource {as_uuid(pk)}"):
            self._check_version(request, pk)
            yield

    def _attributes_to_patch(self, request: Request, pk: str) -> dict[str, object]:
        return self._body(request, pk)

    def _resolve_conflicts(self, before: dict[str, object], after: dict[str, object]) -> dict[str, object]:
        """Return the patched attributes without those that a changed attribute replaces."""
        return after

    def _replace(self, request: Request, pk: str, body: object) -> Response:
        self.kind.replace(self._row(request, pk), self.kind.read_values(body))
        return respond(request, self._body(request, pk))

    def _row(self, request: Request, pk: str) -> Model:
        row: Model = self.kind.get_row(self.organization(request), as_uuid(pk))
        return row

    def _body(self, request: Request, pk: str) -> JsonObject:
        body: JsonObject = self.kind.render(self._row(request, pk), base_address(request))
        return body

    def _check_version(self, request: Request, pk: str) -> None:
        """Raise ScimError (412) if the resource's current version does not match If-Match, and 404 if there is none."""
        version = self._body(request, pk)["meta"]["version"]
        expected = request.headers.get("If-Match", "*").strip()
        if expected != "*" and version not in expected:
            raise ScimError(412, "The resource was changed in the meantime.")


class Search(ScimView):
    """Lists resources with the parameters in a body, which no log shows (RFC 7644, 3.4.3)."""

    http_method_names = ("post",)
    kinds: Sequence[AnyKind] = (USERS, GROUPS)

    def post(self, request: Request) -> Response:
        if not isinstance(request.data, dict):
            raise ScimError(400, "The body must be a JSON object.", "invalidSyntax")
        parameters = {name: _as_text(value) for name, value in request.data.items()}
        return list_resources(request, self.organization(request), self.kinds, parameters)


def _as_text(value: object) -> str:
    """Return a parameter as it would be in a URL. Raises ScimError (400) for a value that a URL cannot have."""
    values = value if isinstance(value, list) else [value]
    if not all(isinstance(entry, str | int) for entry in values):
        raise ScimError(400, "Parameters are texts, integers and lists of texts.", "invalidValue")
    return ",".join(map(str, values))


class Users(ResourceList):
    kind = USERS


class UserSearch(Search):
    kinds = (USERS,)


class User(ResourceDetail):
    kind = USERS

    def _attributes_to_patch(self, request: Request, pk: str) -> dict[str, object]:
        """Use the membership's `is_active`, not the account's.

        So a PATCH of another attribute does not deactivate the membership of a suspended account.
        """
        membership = USERS.get_row(self.organization(request), as_uuid(pk))
        return {**super()._attributes_to_patch(request, pk), "active": membership.is_active}

    def _resolve_conflicts(self, before: dict[str, object], after: dict[str, object]) -> dict[str, object]:
        """Keep only the changed one of `name` and `displayName`, which show the same stored value.

        If one of them is removed, the other is removed too. If both parts of `name` are set, they are the new value.
        """
        shown = before.get("displayName")
        if shown is None or after.get("displayName") not in (shown, None):
            return after
        if after.get("displayName") is None and after.get("name") == before.get("name"):
            return {key: value for key, value in after.items() if key not in ("name", "displayName")}
        if after.get("name") == before.get("name"):
            return after
        after = {key: value for key, value in after.items() if key != "displayName"}
        name = after.get("name")
        if isinstance(name, dict) and {"givenname", "familyname"} <= {part.lower() for part in name}:
            after["name"] = {part: value for part, value in name.items() if value != shown or part != "formatted"}
        return after


class Groups(ResourceList):
    kind = GROUPS


class GroupSearch(Search):
    kinds = (GROUPS,)


class Group(ResourceDetail):
    kind = GROUPS
