"""Page-number pagination of the contracts' lists: `?page=` and `?pageSize=`."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request

from ragsite.http import pagination
from ragsite.http.pagination import Page

_PAGE_SIZE_PARAMETER = "pageSize"
# For the @extend_schema of every list.
PARAMETERS = pagination.parameters(_PAGE_SIZE_PARAMETER)


def paginate(request: Request, queryset: QuerySet[Any]) -> Page:
    """Return the requested page, which is empty beyond the last page.

    Raises:
        ValidationError: If a query parameter is invalid (DRF).
    """
    return pagination.paginate(request, queryset, size_name=_PAGE_SIZE_PARAMETER)
