"""Golden questions, and a data source's page Quality: figures over time, import and export."""

import uuid
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.views.decorators.http import require_http_methods, require_safe

from orgs.access.caller import get_caller
from rag import queue
from rag.admin.base import SourceContentAdmin
from rag.errors import RagError
from rag.models import DataSource, GoldenQuestion, QualityRun
from rag.services.evaluation import golden_questions, quality

from .source_pages import get_managed_source, render_page

_SHOWN = 60
_WIDTH, _HEIGHT, _LEFT, _TOP = 640, 200, 36, 10


class GoldenForm(forms.ModelForm):
    class Meta:
        model = GoldenQuestion
        fields = ("source", "question", "path", "passage", "active")
        widgets = {"question": forms.Textarea(attrs={"rows": 2}), "path": forms.TextInput(attrs={"size": 80})}

    request: HttpRequest

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        source = values.get("source") or (self.instance.source if self.instance.source_id else None)
        if source is None:
            return values
        objections = golden_questions.validate(
            source,
            get_caller(self.request),
            question=values.get("question") or "",
            path=values.get("path") or "",
            passage=(values.get("passage") or "") if "passage" in self.fields else self.instance.passage,
            wrote_passage="passage" in self.changed_data,
        )
        for each in objections:
            self.add_error(None, f"{each[0].upper()}{each[1:]}.")
        if self.instance._state.adding and source.golden_questions.count() >= quality.MAX_QUESTIONS:
            self.add_error(None, f"A source may have {quality.MAX_QUESTIONS} golden questions.")
        return values


@admin.register(GoldenQuestion)
class GoldenQuestionAdmin(SourceContentAdmin):
    form = GoldenForm
    list_display = ("question", "source", "path", "expects_passage", "active", "created_by")
    list_filter = ("source", "active")
    list_select_related = ("source__organization", "created_by")
    search_fields = ("question", "path")

    @admin.display(description="a passage", boolean=True)
    def expects_passage(self, row: GoldenQuestion) -> bool:
        return bool(row.passage)

    def get_form(self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: Any) -> Any:
        form: Any = super().get_form(request, obj, change, **kwargs)
        form.request = request  # a class of this request's own
        return form

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        hidden = obj is not None and not golden_questions.may_see_passages(get_caller(request), obj.source)
        names = ["source", "question", "path", "passage", "active"]
        return [name for name in names if not (hidden and name == "passage")]

    def get_readonly_fields(self, request: HttpRequest, obj: Model | None = None) -> tuple[str, ...]:
        return ("source",) if obj else ()

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        return {name: value for name, value in super().get_changeform_initial_data(request).items() if name == "source"}

    def save_model(self, request: HttpRequest, obj: GoldenQuestion, form: Any, change: bool) -> None:
        if not change:
            obj.created_by = get_caller(request).authenticated_user
        super().save_model(request, obj, form, change)


@require_http_methods(["GET", "POST"])
def page(request: HttpRequest, source_id: uuid.UUID) -> HttpResponse:
    source = get_managed_source(request, source_id)
    if request.method == "POST":
        _act(request, source)
        return HttpResponseRedirect(request.path)
    runs = list(quality.list_live_runs(source)[: _SHOWN + 1])
    before = [*runs[1:], None][: len(runs)]
    table = [(run, old, bool(old and quality.is_regression(old, run))) for run, old in zip(runs, before, strict=True)]
    return render_page(
        request,
        "quality",
        source,
        "Quality",
        runs=table[:_SHOWN],
        chart=_chart(runs[:_SHOWN][::-1]),
        questions=source.golden_questions.count(),
        active=quality.active_questions(source).count(),
        most=quality.MAX_QUESTIONS,
    )


@require_safe
def export(request: HttpRequest, source_id: uuid.UUID) -> HttpResponse:
    source = get_managed_source(request, source_id)
    content = golden_questions.export_csv(source, get_caller(request))
    name = f"golden-questions-{source.slug}.csv"
    reply = HttpResponse(content, content_type="text/csv; charset=utf-8")
    reply["Content-Disposition"] = f'attachment; filename="{name}"'
    return reply


def _act(request: HttpRequest, source: DataSource) -> None:
    if request.POST.get("action") == "measure":
        queue.send("rag.measure_quality", str(source.pk), True)
        messages.success(request, "A worker asks the golden questions: the figures will appear here.")
        return
    file = request.FILES.get("file")
    if file is None:
        messages.error(request, "Choose a CSV file.")
        return
    try:
        added = golden_questions.import_csv(source, file.read(golden_questions.MAX_BYTES + 1), by=get_caller(request))
    except RagError as error:
        for line in [error.message, *error.data.get("errors", [])]:
            messages.error(request, line)
    else:
        messages.success(request, f"Imported: {added}. What was there already stayed as it is.")


def _chart(runs: list[QualityRun]) -> dict[str, Any] | None:
    """Oldest first → lines of an SVG picture, or None where there is nothing to draw."""
    if len(runs) < 2:
        return None
    step = (_WIDTH - _LEFT - 10) / (len(runs) - 1)
    space = _HEIGHT - 2 * _TOP - 16

    def line(name: str) -> list[dict[str, Any]]:
        values = [getattr(run, name) for run in runs]
        return [
            {"x": f"{_LEFT + step * number:.1f}", "y": f"{_TOP + space * (1 - value):.1f}", "value": f"{value:.3f}"}
            for number, value in enumerate(values)
        ]

    series = [("nDCG@10", "#2b7bba", line("ndcg_at_10")), ("Recall@10", "#c76b00", line("recall_at_10"))]
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "left": _LEFT,
        "right": _WIDTH - 10,
        "bottom": _HEIGHT - 6,
        "grid": [(f"{_TOP + space * (1 - tick / 4):.1f}", f"{tick / 4:.2f}") for tick in range(5)],
        "series": [
            {"name": name, "colour": colour, "points": points, "line": " ".join(f"{p['x']},{p['y']}" for p in points)}
            for name, colour, points in series
        ],
        "first": runs[0].at,
        "last": runs[-1].at,
    }
