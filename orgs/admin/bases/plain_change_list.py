"""The list of an admin page, without controls that have nothing to act on."""

from django.contrib.admin.views.main import ChangeList
from django.http import HttpRequest


class PlainChangeList(ChangeList):
    """Offers actions only where there are rows, and "Show all" only where not all are shown."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        self.show_admin_actions = bool(self.result_count)
        if not self.query and not self.has_active_filters:
            self.full_result_count = self.result_count
