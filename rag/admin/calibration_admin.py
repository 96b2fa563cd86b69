"""The admin of calibrations: read only, `manage.py calibrate` creates them."""

from django.contrib import admin
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.superuser_admin import SuperuserAdmin
from rag.models import Calibration

from .base import ReadOnlyMixin

# The plot is a square. Left of it and below it there is space for the labels of its axes.
_PLOT_SIZE = 220
_MARGIN = 40
_TOP = 10
_RIGHT = 20


@admin.register(Calibration)
class CalibrationAdmin(ReadOnlyMixin, SuperuserAdmin):
    empty_text = _("Calibrations are made with manage.py calibrate.")
    list_display = ("model", "mode", "questions", "error", "high", "medium", "at")
    list_select_related = ("model",)
    fields = (
        "model", "mode", "questions", "at", "curve", "error", "high", "medium", "reliability_table", "risk_curve",
    )  # fmt: skip
    readonly_fields = fields

    @admin.display(description=_("probability"))
    def curve(self, calibration: Calibration) -> str:
        sign = "−" if calibration.offset < 0 else "+"
        evidence = gettext("evidence")
        return f"1 / (1 + exp(−({calibration.slope:.2f} × {evidence} {sign} {abs(calibration.offset):.2f})))"

    @admin.display(description=_("minimum cosine, high confidence"), ordering="cosine_high")
    def high(self, calibration: Calibration) -> str:
        return _format_figure(calibration.cosine_high) or gettext("not separable by cosine")

    @admin.display(description=_("minimum cosine, medium confidence"), ordering="cosine_medium")
    def medium(self, calibration: Calibration) -> str:
        return _format_figure(calibration.cosine_medium) or gettext("not separable by cosine")

    @admin.display(description=_("expected calibration error"), ordering="calibration_error")
    def error(self, calibration: Calibration) -> str:
        return f"{calibration.calibration_error:.3f}"

    @admin.display(description=_("reliability on held-out questions"))
    def reliability_table(self, calibration: Calibration) -> SafeString:
        lines = [
            (f"{predicted:.2f}", f"{observed:.2f}", f"{count:.0f}")
            for predicted, observed, count in calibration.reliability
        ]
        return format_html(
            "<table><tr><th>{}</th><th>{}</th><th>{}</th></tr>{}</table><p>{}</p>",
            gettext("predicted probability"),
            gettext("observed share correct"),
            gettext("samples"),
            format_html_join("", "<tr><td>{}</td><td>{}</td><td>{}</td></tr>", lines),
            gettext(
                "Each question is two samples: with its search results, and without the documents that it expects."
            ),
        )

    @admin.display(description=_("coverage and risk"))
    def risk_curve(self, calibration: Calibration) -> SafeString:
        points = " ".join(
            f"{_MARGIN + coverage * _PLOT_SIZE:.1f},{_TOP + (1 - risk) * _PLOT_SIZE:.1f}"
            for coverage, risk in calibration.risk_coverage
        )
        return format_html(
            '<svg viewBox="0 0 {0} {1}" width="{0}" height="{1}" role="img" font-size="11" fill="currentColor" '
            'aria-label="Risk by coverage">{2}'
            '<polyline points="{3}" fill="none" stroke="#2b7bba" stroke-width="2"/></svg>'
            "<p>Horizontal: coverage, the share of samples that are answered, most confident first. Vertical: risk, "
            "the share of the answered samples that are wrong.</p>",
            _MARGIN + _PLOT_SIZE + _RIGHT,
            _TOP + _PLOT_SIZE + _MARGIN,
            format_html_join("", _GRID_LINES, map(_grid_line_values, range(5))),
            points,
        )


# One horizontal and one vertical grid line with their labels.
_GRID_LINES = (
    '<path d="M{0} {1}H{2}M{3} {4}V{5}" stroke="currentColor" stroke-opacity="{6}"/>'
    '<text x="{7}" y="{8}" text-anchor="end">{9}</text><text x="{3}" y="{10}" text-anchor="middle">{9}</text>'
)


def _grid_line_values(quarter: int) -> tuple[object, ...]:
    bottom = _TOP + _PLOT_SIZE
    step = _PLOT_SIZE * quarter // 4
    opacity = 0.15 if quarter else 1
    coordinates = (_MARGIN, bottom - step, _MARGIN + _PLOT_SIZE, _MARGIN + step, _TOP, bottom, opacity)
    return (*coordinates, _MARGIN - 5, bottom - step + 4, f"{25 * quarter} %", bottom + 16)


def _format_figure(value: float | None) -> str | None:
    return None if value is None else f"{value:.3f}"
