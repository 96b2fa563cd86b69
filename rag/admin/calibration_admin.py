"""Calibrations: read here, made by `manage.py calibrate`."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from rag.models import Calibration

_SIZE, _EDGE = 220, 40


@admin.register(Calibration)
class CalibrationAdmin(admin.ModelAdmin):
    list_display = ("model", "mode", "questions", "error", "high", "medium", "at")
    list_select_related = ("model",)
    fields = (
        *("model", "mode", "questions", "at", "curve", "error", "high", "medium"),
        *("reliability_table", "risk_curve"),
    )
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="probability")
    def curve(self, row: Calibration) -> str:
        return f"1 / (1 + exp(−({row.slope:.2f} × evidence {'−' if row.offset < 0 else '+'} {abs(row.offset):.2f})))"

    @admin.display(description="cosine for high confidence", ordering="cosine_high", empty_value="cosines tell nothing")
    def high(self, row: Calibration) -> str | None:
        return _figure(row.cosine_high)

    @admin.display(description="for medium confidence", ordering="cosine_medium", empty_value="cosines tell nothing")
    def medium(self, row: Calibration) -> str | None:
        return _figure(row.cosine_medium)

    @admin.display(description="expected calibration error", ordering="calibration_error")
    def error(self, row: Calibration) -> str:
        return f"{row.calibration_error:.3f}"

    @admin.display(description="reliability, on questions held out")
    def reliability_table(self, row: Calibration) -> SafeString:
        lines = [(f"{said:.2f}", f"{seen:.2f}", f"{count:.0f}") for said, seen, count in row.reliability]
        return format_html(
            "<table><tr><th>probability given</th><th>share that was right</th><th>cases</th></tr>{}</table>"
            "<p>Each question is two cases: with what was found, and without the documents that it expects.</p>",
            format_html_join("", "<tr><td>{}</td><td>{}</td><td>{}</td></tr>", lines),
        )

    @admin.display(description="coverage and risk")
    def risk_curve(self, row: Calibration) -> SafeString:
        points = " ".join(
            f"{_EDGE + covered * _SIZE:.1f},{10 + (1 - wrong) * _SIZE:.1f}" for covered, wrong in row.risk
        )
        return format_html(
            '<svg viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" font-size="11" fill="currentColor" '
            'aria-label="Share of the answered cases that are wrong, by the share that is answered">{2}'
            '<polyline points="{3}" fill="none" stroke="#2b7bba" stroke-width="2"/></svg>'
            "<p>Across: the share of the cases that are answered, the surest first. Up: the share of these that are "
            "wrong.</p>",
            *(_SIZE + _EDGE + 20, _SIZE + _EDGE + 10, format_html_join("", _LINE, map(_line, range(5))), points),
        )


# A quarter of the way, across and up.
_LINE = (
    '<path d="M{0} {1}H{2}M{3} {4}V{5}" stroke="currentColor" stroke-opacity="{6}"/>'
    '<text x="{7}" y="{8}" text-anchor="end">{9}</text><text x="{3}" y="{10}" text-anchor="middle">{9}</text>'
)


def _line(quarter: int) -> tuple[object, ...]:
    bottom, step = 10 + _SIZE, _SIZE * quarter // 4
    opacity = 0.15 if quarter else 1
    ends = (_EDGE, bottom - step, _EDGE + _SIZE, _EDGE + step, 10, bottom, opacity)
    return (*ends, _EDGE - 5, bottom - step + 4, f"{25 * quarter} %", bottom + 16)


def _figure(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"
