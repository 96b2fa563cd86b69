"""Every list is bounded: `?page=` and `?pageSize=`."""

from typing import Any

from django.db.models import QuerySet
from rest_framework.request import Request

from ragsite.http import pagination
from ragsite.http.pagination import Page

_SIZE = "pageSize"
# For @extend_schema of every list.
PARAMETERS = pagination.parameters(_SIZE)


def page(request: Request, rows: QuerySet[Any]) -> Page:
    """The page that the request asks for; empty beyond the last one. Raises DRF's ValidationError."""
    return pagination.page(request, rows, size_name=_SIZE)
