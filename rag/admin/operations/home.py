"""The figures on the admin's home, for users who manage data sources."""

from typing import Any, cast

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse

from accounts.sign_in.admin_site import Site
from rag.admin.base import managed_organizations, visible_sources
from rag.models import Action, IngestionJob
from rag.services.operations import home_figures

from .charts import Chart, build_chart

_JOBS, _DOCUMENTS = "admin:rag_ingestionjob_changelist", "admin:rag_ingestiondocument_changelist"


def read_figures(request: HttpRequest) -> dict[str, object]:
    """Return the context of the home page for the user of this request; empty if they manage no data source."""
    organizations = managed_organizations(request)
    if not organizations.exists():
        return {}
    is_superuser = bool(request.user.is_superuser)
    figures = home_figures.read_figures(visible_sources(request, Action.MANAGE), organizations, covers_all=is_superuser)
    jobs = [
        {"status": status.label, "count": figures.jobs[status], "url": f"{reverse(_JOBS)}?status__exact={status.value}"}
        for status in IngestionJob.Status
    ]
    return {"figures": figures, "jobs": jobs, "charts": _charts(figures), "may_operate": is_superuser}


def _charts(figures: home_figures.HomeFigures) -> list[tuple[Chart, str]]:
    """Return the charts that have something to show, each with the address of the list that it is about."""
    queries, answers, documents = (figures.by_hour(name) for name in ("query", "answer", "document"))
    document_list = reverse(_DOCUMENTS)
    charts: list[tuple[Any, str]] = [
        (build_chart("Documents ingested per hour", [(at, day.count - day.failures) for at, day in documents]),
         f"{document_list}?state__exact=done"),
        (build_chart("Failed documents per hour", [(at, day.failures) for at, day in documents]),
         f"{document_list}?state__exact=failed"),
        (build_chart("Questions per hour", [(at, day.count) for at, day in queries]), ""),
        (build_chart("Time of half of the questions (p50)", [(at, day.p50) for at, day in queries], unit=" ms"), ""),
        (build_chart("Time of 95 % of the questions (p95)", [(at, day.p95) for at, day in queries], unit=" ms"), ""),
        (build_chart("Grounded answers", [(at, _percent(day.failure_share)) for at, day in answers], unit=" %"), ""),
    ]  # fmt: skip
    return [(chart, url) for chart, url in charts if chart]


def _percent(refused_share: float | None) -> float | None:
    return None if refused_share is None else 100 * (1 - refused_share)


cast(Site, admin.site).register_figures(read_figures)
