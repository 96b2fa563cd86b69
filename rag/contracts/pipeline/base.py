"""The base of the pipeline contract's view sets."""

from rag.contracts.common.base import ContractViewSet
from ragsite.http.bodies.response_etags import ETagView
from ragsite.http.openapi import COMMON_STATUSES

from . import error_format


class PipelineViewSet(ETagView, ContractViewSet):
    error_handler = staticmethod(error_format.handle_exception)
    error_statuses: tuple[int, ...] = (*COMMON_STATUSES, 404)
