"""Calibrations: read here, made by `manage.py calibrate`."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from rag.models import Calibration

_SIZE, _EDGE = 220, 30


@admin.register(Calibration)
class CalibrationAdmin(admin.ModelAdmin):
    list_display = ("model", "gear", "questions", "error", "cosine_high", "cosine_medium", "at")
    list_select_related = ("model",)
    fields = (
        *("model", "gear", "questions", "at", "slope", "offset", "error", "cosine_high", "cosine_medium"),
        *("reliability_table", "risk_curve"),
    )
    readonly_fields = fields

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    @admin.display(description="expected calibration error", ordering="calibration_error")
    def error(self, row: Calibration) -> str:
        return f"{row.calibration_error:.3f}"

    @admin.display(description="reliability, on questions held out")
    def reliability_table(self, row: Calibration) -> SafeString:
        lines = [(f"{said:.2f}", f"{seen:.2f}", f"{count:.0f}") for said, seen, count in row.reliability]
        return format_html(
            "<table><tr><th>probability given</th><th>share that was right</th><th>questions</th></tr>{}</table>",
            format_html_join("", "<tr><td>{}</td><td>{}</td><td>{}</td></tr>", lines),
        )

    @admin.display(description="coverage and risk")
    def risk_curve(self, row: Calibration) -> SafeString:
        """Across: the share of questions that are answered, the surest first. Up: the share of these that are wrong."""
        points = " ".join(
            f"{_EDGE + covered * _SIZE:.1f},{10 + (1 - wrong) * _SIZE:.1f}" for covered, wrong in row.risk
        )
        width, height = _SIZE + _EDGE + 10, _SIZE + _EDGE + 10
        return format_html(
            '<svg viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" font-size="11" fill="currentColor" '
            'aria-label="Share of the answered questions that are wrong, by the share that is answered">'
            '<path d="M{2} 10V{3}H{4}" fill="none" stroke="currentColor"/>'
            '<polyline points="{5}" fill="none" stroke="#2b7bba" stroke-width="2"/>'
            '<text x="2" y="16">1</text><text x="2" y="{3}">0</text><text x="{2}" y="{6}">0</text>'
            '<text x="{7}" y="{6}">answered 1</text></svg>',
            *(width, height, _EDGE, 10 + _SIZE, _EDGE + _SIZE, points, 24 + _SIZE, _EDGE + _SIZE - 60),
        )
