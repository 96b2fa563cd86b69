"""Every list is bounded: `?page=`, and the size of a page in a parameter that each contract names its own way."""

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator
from django.db.models import QuerySet
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request

DEFAULT_PAGE_SIZE = 50
MAX_PAGE_SIZE = 200


@dataclass(frozen=True, slots=True)
class Page:
    items: list[Any]
    numbers: dict[str, int]


def page(request: Request, rows: QuerySet[Any], *, size_name: str) -> Page:
    """The page that the request asks for; empty beyond the last one. Raises DRF's ValidationError."""
    number = _positive(request, "page", 1, 1_000_000)
    size = _positive(request, size_name, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)
    pages = Paginator(rows, size)
    items = list(pages.page(number).object_list) if number <= pages.num_pages else []
    return Page(items, {"page": number, size_name: size, "total": pages.count})


def _positive(request: Request, name: str, default: int, highest: int) -> int:
    given = request.query_params.get(name, str(default))
    if not (given.isascii() and given.isdigit() and len(given) < 10 and 1 <= int(given) <= highest):
        raise ValidationError({name: f"{name} must be an integer from 1 to {highest:,}"})
    return int(given)
