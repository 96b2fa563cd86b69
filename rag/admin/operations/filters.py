"""Template filters of the page "Operations", loaded with `load operations`."""

from django import template

register = template.Library()
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
