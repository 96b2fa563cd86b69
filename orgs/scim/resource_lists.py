"""The types of SCIM resources, and their lists."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from django.db.models import Model, QuerySet
from rest_framework.request import Request
from rest_framework.response import Response

from orgs.models import Organization
from ragsite.http.bodies.json_types import JsonObject
from ragsite.http.fair_slots import FairSlots

from . import filters, groups, resources, users
from .base_views import Parameters, base_address, read_integer, select
from .errors import ScimError, TooManyLists, not_found

# A page of groups ends with the group that exceeds it.
MAX_MEMBERS_OF_PAGE = 100_000

# By organisation. A page of large groups takes more than a second, in which other requests of the process are slower.
LISTS = FairSlots(lambda: 2, TooManyLists, max_wait_seconds=10.0, max_of_caller_per_slot=4, max_per_slot=6)


Row = TypeVar("Row", bound=Model)
Values = TypeVar("Values")


@dataclass(frozen=True, slots=True)
class ResourceKind(Generic[Row, Values]):
    """What the endpoints of one type of resources do. `fields`: the database field of each attribute in filters."""

    fields: Mapping[str, str | filters.Constant]
    list_rows: Callable[[Organization], QuerySet[Row]]
    read_values: Callable[[object], Values]
    create: Callable[[Organization, Values], Row]
    replace: Callable[[Row, Values], None]
    remove: Callable[[Row], None]
    render: Callable[[Row, str], JsonObject]

    def get_row(self, organization: Organization, pk: uuid.UUID | None) -> Row:
        """Return the row with this id.

        Raises:
            ScimError: If the organisation has none (404).
        """
        row = self.list_rows(organization).filter(pk=pk).first() if pk else None
        if row is None:
            raise not_found()
        return row


# A list may have resources of several types.
AnyKind: TypeAlias = ResourceKind[Any, Any]

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
    request: Request, organization: Organization, kinds: Sequence[AnyKind], parameters: Parameters
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
    request: Request, selected: Sequence[tuple[AnyKind, QuerySet[Model]]], start: int, count: int
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
    organization: Organization, kinds: Sequence[AnyKind], text: str
) -> list[tuple[AnyKind, QuerySet[Model]]]:
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
