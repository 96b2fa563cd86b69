"""The list of an admin page, without controls that have nothing to act on."""

import uuid

from django.contrib.admin.views.main import ChangeList
from django.db.models import Model
from django.http import HttpRequest
from django.utils.functional import cached_property


class PlainChangeList(ChangeList):
    """Offers actions only where there are rows, and "Show all" only where not all are shown."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.show_admin_actions = bool(self.result_count)
        if not self.query and not self.has_active_filters:
            self.full_result_count = self.result_count

    def url_for_result(self, result: Model) -> str:
        """Return the address of a row's page. Django resolves the pattern of addresses for each row."""
        if isinstance(result.pk, uuid.UUID):
            return self._page_of_nil.replace(str(uuid.UUID(int=0)), str(result.pk))
        return super().url_for_result(result)

    @cached_property
    def _page_of_nil(self) -> str:
        return super().url_for_result(self.model(pk=uuid.UUID(int=0)))
