"""/scim/v2: a directory creates, changes and deactivates the members and groups of one organisation."""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.models import Organization
from ragsite.http.bodies.json_types import JsonObject
from ragsite.http.fair_slots import FairSlots
from ragsite.postgres.models import as_uuid

from . import filters, groups, patches, resources, users
from .base_views import Parameters, ScimView, base_address, exclusive, read_integer, respond, select
from .errors import ScimError, TooManyLists, not_found

# A page of groups ends with the group that exceeds it.
MAX_MEMBERS_OF_PAGE = 100_000

# By organisation. A page of large groups takes more than a second, in which other requests of the process are slower.
LISTS = FairSlots(lambda: 2, TooManyLists, max_wait_seconds=10.0, max_of_caller_per_slot=4, max_per_slot=6)


@dataclass(frozen=True, slots=True)
class ResourceKind:
    """What the endpoints of one type of resources do. `fields`: the database field of each attribute in filters."""

    fields: Mapping[str, str | filters.Constant]
    list_rows: Callable[[Organization], QuerySet[Model]]
    read_values: Callable[[Any], Any]
    create: Callable[[Organization, Any], Any]
    replace: Callable[[Any, Any], None]
    remove: Callable[[Any], None]
    render: Callable[[Any, str], JsonObject]

    def get_row(self, organization: Organization, pk: uuid.UUID | None) -> Any:
        """Return the row with this id.

        Raises:
            ScimError: If the organisation has none (404).
        """
        row = self.list_rows(organization).filter(pk=pk).first() if pk else None
        if row is None:
            raise not_found()
        return row


USERS = ResourceKind(
    users.FIELDS,
    users.list_users,
    users.read_values,
    users.create_user,
    users.replace_user,
    users.delete_user,
    resources.render_user,
)
GROUPS = ResourceKind(
    groups.FIELDS,
    groups.list_groups,
    groups.read_values,
    groups.create_group,
    groups.replace_group,
    groups.delete_group,
    resources.render_group,
)


def list_resources(
    request: Request, organization: Organization, kinds: Sequence[ResourceKind], parameters: Parameters
) -> Response:
    """Respond with one page of the resources of these kinds, one kind after the other.

    It may have fewer than `count` (RFC 7644, 3.4.2.4): 200 groups of 10,000 members would need gigabytes.
    """
    start = max(1, read_integer(parameters, "startIndex", 1))
    count = min(max(0, read_integer(parameters, "count", 100)), resources.MAX_RESULTS)
    with LISTS.slot(organization.pk):
        total, page = _read_page(request, _select_rows(organization, kinds, parameters.get("filter", "")), start, count)
    return Response(
        {
            "schemas": [resources.LIST_SCHEMA],
            "totalResults": total,
            "startIndex": start,
            "itemsPerPage": len(page),
            "Resources": [select(parameters, body) for body in page],
        }
    )


def _read_page(
    request: Request, selected: Sequence[tuple[ResourceKind, QuerySet[Model]]], start: int, count: int
) -> tuple[int, list[JsonObject]]:
    """Return how many rows there are, and the resources of the page."""
    total, members, page = 0, 0, list[JsonObject]()
    for kind, rows in selected:
        first = max(0, start - 1 - total)
        for row in rows[first : first + count - len(page)]:
            if members >= MAX_MEMBERS_OF_PAGE:
                break
            page.append(kind.render(row, base_address(request)))
            members += len(page[-1].get("members", ()))
        total += rows.count()
    return total, page


def _select_rows(
    organization: Organization, kinds: Sequence[ResourceKind], text: str
) -> list[tuple[ResourceKind, QuerySet[Model]]]:
    """Return the rows of each kind that the filter matches.

    Kinds that lack an attribute of the filter are left out.

    Raises:
        ScimError: If the filter is valid for no kind.
    """
    if not text:
        return [(kind, kind.list_rows(organization)) for kind in kinds]
    matching, errors = [], []
    for kind in kinds:
        try:
            condition = filters.to_condition(text, kind.fields)
        except ScimError as error:
            errors.append(error)
        else:
            matching.append((kind, kind.list_rows(organization).filter(condition).distinct()))
    if not matching:
        raise errors[0]
    return matching


class ResourceList(ScimView):
    """Lists and creates resources of one type."""

    kind: ResourceKind

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

    kind: ResourceKind

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

    def _row(self, request: Request, pk: str) -> Any:
        return self.kind.get_row(self.organization(request), as_uuid(pk))

    def _body(self, request: Request, pk: str) -> JsonObject:
        return self.kind.render(self._row(request, pk), base_address(request))

    def _check_version(self, request: Request, pk: str) -> None:
        """Raise ScimError (412) if the resource's current version does not match If-Match, and 404 if there is none."""
        version = self._body(request, pk)["meta"]["version"]
        expected = request.headers.get("If-Match", "*").strip()
        if expected != "*" and version not in expected:
            raise ScimError(412, "The resource was changed in the meantime.")


class Search(ScimView):
    """Lists resources with the parameters in a body, which no log shows (RFC 7644, 3.4.3)."""

    http_method_names = ("post",)
    kinds: Sequence[ResourceKind] = (USERS, GROUPS)

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
        return {**super()._attributes_to_patch(request, pk), "active": self._row(request, pk).is_active}

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
