"""A data source's page "Quality": figures over time, import and export of golden questions."""

import uuid

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from orgs.access.caller import get_caller
from rag.errors import RagError
from rag.models import DataSource
from rag.services.evaluation import golden_questions, quality, requested_measurements

from .quality_chart import build_chart
from .source_page_base import get_managed_source, render_page

_MAX_RUNS = 60


@require_http_methods(["GET", "POST"])
def show_quality(request: HttpRequest, source_id: uuid.UUID) -> HttpResponse:
    source = get_managed_source(request, source_id)
    may_see_results = golden_questions.may_see_results(get_caller(request), source)
    if request.method == "POST":
        if request.POST.get("action") != "measure":
            _import_golden_questions(request, source)
        elif may_see_results:
            _queue_measurement(request, source)
        else:
            raise PermissionDenied
        return HttpResponseRedirect(request.path)
    runs = list(quality.list_live_runs(source)[: _MAX_RUNS + 1]) if may_see_results else []
    previous_runs = [*runs[1:], None][: len(runs)]
    runs_with_previous = [
        (run, previous, bool(previous and quality.is_regression(previous, run)))
        for run, previous in zip(runs, previous_runs, strict=True)
    ]
    return render_page(
        request,
        "quality",
        source,
        gettext("Quality"),
        may_see_results=may_see_results,
        runs=runs_with_previous[:_MAX_RUNS],
        chart=build_chart(runs[:_MAX_RUNS][::-1]),
        questions=source.golden_questions.count(),
        active=quality.active_questions(source).count(),
        max_questions=golden_questions.MAX_QUESTIONS,
    )


@require_safe
def export_golden_questions(request: HttpRequest, source_id: uuid.UUID) -> HttpResponse:
    source = get_managed_source(request, source_id)
    content = golden_questions.export_csv(source, get_caller(request))
    file_name = f"golden-questions-{source.slug}.csv"
    # With a byte order mark: Excel reads other files as Latin-1.
    response = HttpResponse(content.encode("utf-8-sig"), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{file_name}"'
    return response


def _queue_measurement(request: HttpRequest, source: DataSource) -> None:
    requested_measurements.request(source)
    messages.success(request, gettext("Measurement queued. Load this page again in a moment to see the figures."))


def _import_golden_questions(request: HttpRequest, source: DataSource) -> None:
    """Import the uploaded CSV file, and show the outcome or each error as a message."""
    file = request.FILES.get("file")
    if file is None:
        messages.error(request, gettext("Choose a CSV file."))
        return
    try:
        count = golden_questions.import_csv(source, file.read(golden_questions.MAX_BYTES + 1), by=get_caller(request))
    except RagError as error:
        errors = error.data.get("errors")
        for line in [error.message, *(errors if isinstance(errors, list) else [])]:
            messages.error(request, line)
    else:
        text = ngettext(
            "Imported {count} golden question. Existing ones were not changed.",
            "Imported {count} golden questions. Existing ones were not changed.",
            count,
        )
        messages.success(request, text.format(count=count))
