"""The figures on the admin's home, for users with the permission sources.manage."""

from typing import cast

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext

from accounts.sign_in.admin_site import Site
from orgs.access.permissions import Permission
from orgs.admin.bases.request_permissions import holds_permission
from rag.admin.base import managed_organizations, visible_sources
from rag.admin.jobs.job_admin_base import STATE_LABELS
from rag.models import Action, IngestionJob
from rag.services.operations import home_figures

from .charts import Chart, build_chart

_JOBS, _DOCUMENTS = "admin:rag_ingestionjob_changelist", "admin:rag_ingestiondocument_changelist"


def read_figures(request: HttpRequest) -> dict[str, object]:
    """Return the context of the home page; empty if this request's user lacks the permission sources.manage."""
    organizations = managed_organizations(request)
    if not organizations.exists():
        return {}
    is_superuser = bool(request.user.is_superuser)
    figures = home_figures.read_figures(visible_sources(request, Action.MANAGE), organizations, covers_all=is_superuser)
    jobs = [
        {
            "status": STATE_LABELS[status.value],
            "count": figures.jobs[status],
            "url": f"{reverse(_JOBS)}?status__exact={status.value}",
            "is_problem": status is IngestionJob.Status.FAILED and figures.jobs[status],
        }
        for status in IngestionJob.Status
    ]
    return {
        "figures": figures,
        "jobs": jobs,
        "charts": _build_charts(figures),
        "shortcuts": _list_shortcuts(request),
    }


def _list_shortcuts(request: HttpRequest) -> list[tuple[str, str]]:
    """Return the labels and URLs of frequent tasks that the user may do."""
    shortcuts = [
        (gettext("Create a data source"), reverse("admin:rag_datasource_add")),
        (gettext("Who can query what"), reverse("admin:rag_datasource_matrix")),
    ]
    if holds_permission(request, Permission.MEMBERS_MANAGE):
        shortcuts.insert(1, (gettext("Invite a person"), reverse("admin:orgs_invitation_add")))
    if request.user.is_superuser:
        shortcuts.append((gettext("Operations: is everything healthy?"), reverse("admin:operations")))
    return shortcuts


def _build_charts(figures: home_figures.HomeFigures) -> list[tuple[Chart, str]]:
    """Return the charts that have something to show, each with the URL of the list of its rows, or an empty text."""
    queries, answers, documents = (figures.by_hour(name) for name in ("query", "answer", "document"))
    document_list = reverse(_DOCUMENTS)
    ingested = [(hour, summary.count - summary.failures) for hour, summary in documents]
    failed = [(hour, summary.failures) for hour, summary in documents]
    question_counts = [(hour, summary.count) for hour, summary in queries]
    medians = [(hour, summary.p50) for hour, summary in queries]
    percentiles = [(hour, summary.p95) for hour, summary in queries]
    grounded = [(hour, _grounded_percent(summary.failure_share)) for hour, summary in answers]
    charts: list[tuple[Chart | None, str]] = [
        (build_chart(gettext("Documents ingested per hour"), ingested), f"{document_list}?state__exact=done"),
        (build_chart(gettext("Failed documents per hour"), failed), f"{document_list}?state__exact=failed"),
        (build_chart(gettext("Questions per hour"), question_counts), ""),
        (build_chart(gettext("Response time, median (p50)"), medians, unit=" ms"), ""),
        (build_chart(gettext("Response time, 95th percentile (p95)"), percentiles, unit=" ms"), ""),
        (build_chart(gettext("Grounded answers"), grounded, unit=" %"), ""),
    ]
    return [(chart, url) for chart, url in charts if chart]


def _grounded_percent(failure_share: float | None) -> float | None:
    """Return the share of grounded answers: an answer counts as a failure if it was refused."""
    return None if failure_share is None else 100 * (1 - failure_share)


cast(Site, admin.site).register_figures(read_figures)
