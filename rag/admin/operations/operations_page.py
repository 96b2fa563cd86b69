"""The page "Operations": whether the installation is healthy, and what to do if it is not. For superusers."""

from collections.abc import Iterable, Sequence
from typing import cast

from django.contrib import admin, messages
from django.contrib.humanize.templatetags.humanize import intcomma
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views import View
from django.views.decorators.cache import never_cache

from accounts.sign_in.admin_site import Site
from rag.admin.jobs.job_admin_base import CONDITION_ADVICE, STATE_LABELS
from rag.models import Condition
from rag.pages.rendering.operations_template_filters import stage_position
from rag.services.ingestion.queue import embedding_outages
from rag.services.operations.installation_state import InstallationState, read_state
from rag.services.operations.measurements import measurement_summaries
from rag.services.operations.problems import Level, find_problems

from .charts import build_chart

_HEADLINES = {
    Level.OK: _("Everything works. There is nothing to do."),
    Level.WARNING: _("The system works, but needs your attention."),
    Level.CRITICAL: _("Something is down."),
}
_ADVICE = {
    **CONDITION_ADVICE,
    Condition.WAITING: _(
        "Their model did not answer. They are tried again by themselves, or now with the button below."
    ),
}
# Conditions that end by themselves only while nothing is down.
_WAITING_FOR_OPERATORS = (Condition.QUEUED, Condition.LOST)


@method_decorator(never_cache, name="dispatch")
class Page(View):
    """The page, and its part that is loaded again every few seconds (`?part`)."""

    def dispatch(self, request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
        if not request.user.is_superuser:  # it concerns all organisations
            raise PermissionDenied
        return super().dispatch(request, *args, **kwargs)

    def get(self, request: HttpRequest) -> HttpResponse:
        context = _build_context(read_state())
        if "part" in request.GET:
            return TemplateResponse(request, "admin/operations/live.html", context)
        context |= {**admin.site.each_context(request), "title": gettext("Operations")}
        return TemplateResponse(request, "admin/operations/page.html", context)

    def post(self, request: HttpRequest) -> HttpResponse:
        count = embedding_outages.retry_waiting_documents()
        text = gettext("Documents that are tried again now: {count}.").format(count=intcomma(count))
        messages.success(request, text)
        return HttpResponseRedirect(reverse("admin:operations"))


def _build_context(state: InstallationState) -> dict[str, object]:
    problems = find_problems(state)
    level = max((problem.level for problem in problems), default=Level.OK)
    conditions = [
        {
            "name": condition.value,
            "label": STATE_LABELS[condition.value],
            "count": state.conditions.get(condition, 0),
            "advice": gettext("They wait until everything above works again.")
            if level == Level.CRITICAL and condition in _WAITING_FOR_OPERATORS
            else _ADVICE[condition],
        }
        for condition in Condition
    ]
    queries, documents = state.queries_by_hour, state.documents_by_hour
    charts = [
        build_chart(gettext("Questions per hour"), [(hour, summary.count) for hour, summary in queries]),
        build_chart(
            gettext("Response time, median (p50)"), [(hour, summary.p50) for hour, summary in queries], unit=" ms"
        ),
        build_chart(gettext("Documents per hour"), [(hour, summary.count) for hour, summary in documents]),
        build_chart(gettext("Failed documents per hour"), [(hour, summary.failures) for hour, summary in documents]),
    ]
    return {
        "state": state,
        "problems": problems,
        "level": level.name.lower(),
        "headline": _HEADLINES[level],
        "conditions": conditions,
        "open_documents": sum(state.conditions.values()),
        "stages": [
            (gettext("Questions"), _find_summary(state.operations, "query"), _sort_stages(state.query_stages)),
            (gettext("Documents"), _find_summary(state.operations, "document"), _sort_stages(state.document_stages)),
        ],
        "charts": [chart for chart in charts if chart],
    }


def _sort_stages(stages: Sequence[measurement_summaries.Summary]) -> list[measurement_summaries.Summary]:
    return sorted(stages, key=lambda stage: stage_position(stage.name))


def _find_summary(summaries: Iterable[measurement_summaries.Summary], name: str) -> measurement_summaries.Summary:
    """Return the summary with this name; an empty one if nothing was measured."""
    return next((summary for summary in summaries if summary.name == name), measurement_summaries.Summary(name))


cast(Site, admin.site).register_page(r"^operations/?$", Page.as_view(), "operations")
