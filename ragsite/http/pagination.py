"""Pagination of lists: `?page=`, and a page size whose parameter has its own name in each contract."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from django.db.models import Model, QuerySet
from drf_spectacular.utils import OpenApiParameter
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

DEFAULT_PAGE_SIZE = 50
MAX_PAGE_SIZE = 200
MAX_PAGE = 1_000_000


Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """A page of a list.

    Attributes:
        numbers: The fields of the response that describe the page: `page`, its size and `total`.
        headers: `Link` with the address of the next page, if there is one.
    """

    items: list[Row]
    numbers: dict[str, int]
    headers: dict[str, str] = field(default_factory=dict)


# Reads some of the rows, from a place on, and counts all.
ReadRows: TypeAlias = Callable[[QuerySet[Row], int, int], tuple[list[Row], int]]


def read_and_count(rows: QuerySet[Row], start: int, size: int) -> tuple[list[Row], int]:
    total = rows.count()
    return list(rows[start : start + size]) if start < total else [], total


def paginate(
    request: Request, rows: QuerySet[Row], *, size_name: str, read: ReadRows[Row] = read_and_count
) -> Page[Row]:
    """Read the page that the request asks for. A page beyond the last one is empty.

    Args:
        size_name: The query parameter of the page size, which is also its name in the response.
        read: How the page and the number of all rows are read.

    Raises:
        ValidationError: The page or the size is out of range.
    """
    number = read_positive(request, "page", 1, MAX_PAGE)
    size = read_positive(request, size_name, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)
    items, total = read(rows, (number - 1) * size, size)
    return Page(items, {"page": number, size_name: size, "total": total})


def parameters(size_name: str) -> list[OpenApiParameter]:
    """Return the OpenAPI parameters of a paginated list, for @extend_schema."""
    return [
        _parameter("page", 1, MAX_PAGE, "Counted from 1."),
        _parameter(size_name, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, "Entries on a page."),
    ]


def _parameter(name: str, default: int, highest: int, meaning: str) -> OpenApiParameter:
    schema = {"type": "integer", "minimum": 1, "maximum": highest, "default": default}
    return OpenApiParameter(name, schema, OpenApiParameter.QUERY, description=meaning)


def read_positive(request: Request, name: str, default: int, highest: int) -> int:
    """Return a query parameter that is an integer from 1 to `highest`; `default` if the request does not have it.

    Raises:
        ValidationError: If it is something else.
    """
    text = request.query_params.get(name, str(default))
    if not (text.isascii() and text.isdigit() and len(text) < 10 and 1 <= int(text) <= highest):
        raise ValidationError({name: f"{name} must be an integer from 1 to {highest:,}"})
    return int(text)
