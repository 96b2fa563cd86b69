"""The base of the pipeline contract's view sets."""

from rag.contracts.common.base import ContractViewSet
from ragsite.http.openapi import COMMON_STATUSES

from . import errors


class PipelineViewSet(ContractViewSet):
    error_handler = staticmethod(errors.handle_exception)
    error_statuses: tuple[int, ...] = (*COMMON_STATUSES, 404)
