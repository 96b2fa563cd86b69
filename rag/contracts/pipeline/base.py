"""What every view of the pipeline contract is."""

from rag.contracts.common.base import ContractView
from ragsite.http.openapi import COMMON_STATUSES

from . import errors


class PipelineView(ContractView):
    error_handler = staticmethod(errors.handle)
    error_statuses: tuple[int, ...] = (*COMMON_STATUSES, 404)
