"""Template filters for stages and times of work, loaded with `load operations_template_filters`."""

from collections.abc import Mapping

from django import template
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

register = template.Library()
# Stages in the order in which they run.
_STAGES = {
    "embed": _("embed"),
    "search": pgettext_lazy("stage", "search"),
    "search_on_replica": _("search on a replica"),
    "rerank": _("rerank"),
    "ground": _("ground"),
    "generate": _("generate"),
    "parsing": _("parsing"),
    "embedding": _("embedding"),
    "indexing": _("indexing"),
}
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400


@register.filter
def duration(seconds: float) -> str:
    """Return a number of seconds in the unit in which people say it."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    if seconds < _HOUR:
        return f"{seconds // _MINUTE:.0f} min {seconds % _MINUTE:.0f} s"
    if seconds < _DAY:
        return f"{seconds // _HOUR:.0f} h {seconds % _HOUR // _MINUTE:.0f} min"
    return f"{seconds // _DAY:.0f} d {seconds % _DAY // _HOUR:.0f} h"


@register.filter
def milliseconds(value: float | None) -> str:
    """Return milliseconds as a duration; a dash if nothing was measured."""
    return "–" if value is None else duration(round(value) / 1000)


@register.filter
def share(value: float | None) -> str:
    """Return a share of 0 to 1 in percent; a dash if nothing was measured."""
    return "–" if value is None else f"{value:.0%}"


@register.filter
def by_stage(stages: Mapping[str, float]) -> list[tuple[str, float]]:
    """Return stage → milliseconds as pairs, in the order in which the stages run."""
    return sorted(stages.items(), key=lambda stage: stage_position(stage[0]))


@register.filter
def stage_label(name: str) -> str:
    """Return the name of a stage in the language of the page."""
    return str(_STAGES.get(name, name))


def stage_position(name: str) -> int:
    """Return when a stage runs, compared with the others; unknown ones last."""
    return list(_STAGES).index(name) if name in _STAGES else len(_STAGES)
