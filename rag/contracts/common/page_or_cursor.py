"""Pagination of the contracts' lists: `?page=` or `?cursor=`, and `?pageSize=`."""

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiParameter
from rest_framework.request import Request

from ragsite.http import pagination
from ragsite.http.pagination import Page, ReadRows, Row

from . import cursors

_PAGE_SIZE_PARAMETER = "pageSize"
CURSOR = OpenApiParameter(
    "cursor",
    {"type": "string", "maxLength": cursors.MAX_CHARACTERS},
    OpenApiParameter.QUERY,
    description='Instead of `page`: the cursor in the `Link` header (`rel="next"`) of the page before. '
    "Entries that are added or deleted meanwhile shift no page.",
)
# For the @extend_schema of every list.
PARAMETERS = [*pagination.parameters(_PAGE_SIZE_PARAMETER), CURSOR]


def paginate(
    request: Request, queryset: QuerySet[Row], *, read: ReadRows[Row] = pagination.read_and_count
) -> Page[Row]:
    """Return the requested page, which is empty beyond the last page.

    Args:
        request: The request, with the number of a page or a cursor.
        queryset: The rows of the list.
        read: How a numbered page and the number of all rows are read.

    Raises:
        ValidationError: If a query parameter is invalid (DRF).
    """
    return _read_page(request, queryset, size_name=_PAGE_SIZE_PARAMETER, read=read)


def _read_page(request: Request, rows: QuerySet[Row], *, size_name: str, read: ReadRows[Row]) -> Page[Row]:
    """Read the page that the request asks for, by its number or by a cursor, with the address of the next one.

    Args:
        size_name: The query parameter of the page size, which is also its name in the response.
        read: How a numbered page and the number of all rows are read.

    Raises:
        ValidationError: If the page or the size is out of range, or the cursor belongs to another list.
    """
    position = cursors.read(request)
    if position is None:
        page = pagination.paginate(request, rows, size_name=size_name, read=read)
        number, size, total = page.numbers["page"], page.numbers[size_name], page.numbers["total"]
        items, has_next = page.items, number * size < total
    else:
        size = pagination.read_positive(request, size_name, pagination.DEFAULT_PAGE_SIZE, pagination.MAX_PAGE_SIZE)
        number, total = position.page, rows.count()
        items = list(cursors.rows_after(rows, position)[: size + 1])
        items, has_next = items[:size], len(items) > size
    link = {"Link": cursors.link_to_next(request, rows, items[-1], number + 1)} if items and has_next else {}
    return Page(items, {"page": number, size_name: size, "total": total}, link)
