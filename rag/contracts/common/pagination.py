"""Page-number pagination of the contracts' lists: `?page=` and `?pageSize=`."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request

from ragsite.http import pagination
from ragsite.http.pagination import Page

_PAGE_SIZE_PARAMETER = "pageSize"
# For the @extend_schema of every list.
PARAMETERS = pagination.parameters(_PAGE_SIZE_PARAMETER)


def paginate(request: Request, rows: QuerySet[Any]) -> Page:
    """The requested page; empty beyond the last page. Raises DRF's ValidationError."""
    return pagination.paginate(request, rows, size_name=_PAGE_SIZE_PARAMETER)
