"""What every view of the pipeline contract is."""

from accounts.schema import COMMON_STATUSES
from rag.contracts.base import ContractView

from . import errors


class PipelineView(ContractView):
    error_handler = staticmethod(errors.handle)
    error_statuses: tuple[int, ...] = (*COMMON_STATUSES, 404)
