"""The base of the pipeline contract's view sets."""

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from rag.contracts.common import etags
from rag.contracts.common.base import ContractViewSet
from ragsite.http.openapi import COMMON_STATUSES

from . import error_format


class PipelineViewSet(ContractViewSet):
    error_handler = staticmethod(error_format.handle_exception)
    error_statuses: tuple[int, ...] = (*COMMON_STATUSES, 404)
    # Its JSON responses have an ETag, except those that no cache may store.
    has_etag = True

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        response = super().finalize_response(request, response, *args, **kwargs)
        # A stream is not a response of DRF.
        if self.has_etag and isinstance(response, Response) and "no-store" not in response.get("Cache-Control", ""):
            etags.add_etag(request, response)
        return response
