"""Draws bar charts and line charts as SVG, without a library."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

_WIDTH, _HEIGHT, _MARGIN = 720, 360, 50
_COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1", "#9c755f", "#bab0ac")


@dataclass(frozen=True)
class Axis:
    """What an axis shows, from `low` to `high`. The values at `ticks` are written beside it."""

    label: str
    low: float = 0.0
    high: float = 1.0
    ticks: tuple[float, ...] = (0, 0.2, 0.4, 0.6, 0.8, 1)
    is_logarithmic: bool = False

    def share(self, value: float) -> float:
        """Return where the value is: 0 at the beginning of the axis, 1 at its end."""
        low, high = self.low, self.high
        if self.is_logarithmic:
            value, low, high = math.log(value), math.log(low), math.log(high)
        return (value - low) / (high - low) if high > low else 0.5


_SHARES = Axis("")


def from_zero(label: str, values: Sequence[float]) -> Axis:
    """Return an axis from 0 to a round number above the values, in five or fewer steps."""
    largest = max(values, default=1.0) or 1.0
    power = 10.0 ** math.floor(math.log10(largest / 5))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor * 5 >= largest)
    steps = math.ceil(largest / step)
    return Axis(label, 0.0, step * steps, tuple(step * number for number in range(steps + 1)))


def logarithmic(label: str, values: Sequence[float]) -> Axis:
    """Return an axis whose ticks are the values, which are above 0."""
    ticks = tuple(sorted(set(values)))
    return Axis(label, ticks[0], ticks[-1], ticks, is_logarithmic=True)


def bars(title: str, by_set: dict[str, dict[str, float]]) -> bytes:
    modes = list(next(iter(by_set.values())))
    step = (_WIDTH - 2 * _MARGIN) / len(by_set)
    width = step * 0.8 / len(modes)
    parts = []
    for number, (name, values) in enumerate(by_set.items()):
        left = _MARGIN + number * step + step * 0.1
        for place, mode in enumerate(modes):
            value = values.get(mode, 0.0)
            x, y = left + place * width, _y(value)
            size = f'width="{width * 0.92:.1f}" height="{_y(0) - y:.1f}"'
            hint = f"<title>{escape(name)}, {escape(mode)}: {value:.3f}</title>"
            parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="{_colour(place)}">{hint}</rect>')
        parts.append(_text(left + step * 0.4, _y(0) + 16, name[:24], anchor="middle"))
    return _page(title, parts, modes)


def lines(
    title: str,
    by_set: dict[str, list[tuple[float, float]]],
    axes: tuple[Axis, Axis],
    guide: Sequence[tuple[float, float]] = (),
    *,
    marked: bool = False,
) -> bytes:
    """Return lines, with a dashed one along `guide`. `marked`: each point is a circle that shows its value."""
    across, upwards = axes
    parts = [_path(_places(guide, axes), "#999", "stroke-dasharray='4 4'")] if guide else []
    for number, (name, points) in enumerate(by_set.items()):
        places = _places(points, axes)
        parts.append(_path(places, _colour(number), f"><title>{escape(name)}</title></polyline"))
        for (x, y), (value_x, value_y) in zip(places, points, strict=True) if marked else ():
            hint = f"<title>{escape(name)}, {value_x:,.10g}: {value_y:,.4g}</title>"
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_colour(number)}">{hint}</circle>')
    parts += [_text(_x(across.share(tick)), _y(0) + 16, f"{tick:,.10g}", anchor="middle") for tick in across.ticks]
    parts.append(_text(_WIDTH / 2, _HEIGHT - 4, across.label, anchor="middle"))
    parts.append(_text(_MARGIN, _MARGIN - 8, upwards.label))
    return _page(title, parts, list(by_set), upwards)


def _places(points: Sequence[tuple[float, float]], axes: tuple[Axis, Axis]) -> list[tuple[float, float]]:
    return [(_x(axes[0].share(x)), _y(axes[1].share(y))) for x, y in points]


def _path(places: Sequence[tuple[float, float]], colour: str, more: str) -> str:
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    closed = more if more.startswith(">") else f"{more} /"
    return f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2" {closed}>'


def _page(title: str, parts: Sequence[str], legend: Sequence[str], upwards: Axis = _SHARES) -> bytes:
    grid = [
        f'<line x1="{_MARGIN}" x2="{_WIDTH - _MARGIN}" y1="{_y(place):.1f}" y2="{_y(place):.1f}" stroke="#ddd"/>'
        + _text(_MARGIN - 6, _y(place) + 4, f"{tick:,.10g}", anchor="end")
        for tick in upwards.ticks
        for place in (upwards.share(tick),)
    ]
    keys = []
    for number, name in enumerate(legend):
        x, y = _MARGIN + (number % 6) * 105, _HEIGHT + 12 + 16 * (number // 6)
        keys.append(f'<rect x="{x}" y="{y - 9}" width="10" height="10" fill="{_colour(number)}"/>')
        keys.append(_text(x + 14, y, name[:16]))
    height = _HEIGHT + 24 + 16 * ((len(legend) - 1) // 6)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" font-family="sans-serif" '
        f'font-size="11"><rect width="{_WIDTH}" height="{height}" fill="#fff"/>'
        + _text(_MARGIN, 20, title, size=15)
        + "".join([*grid, *parts, *keys])
        + "</svg>\n"
    ).encode(errors="replace")


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 11) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{escape(text)}</text>'


def _colour(number: int) -> str:
    return _COLOURS[number % len(_COLOURS)]


def _x(value: float) -> float:
    return _MARGIN + value * (_WIDTH - 2 * _MARGIN)


def _y(value: float) -> float:
    return _HEIGHT - _MARGIN + 10 - value * (_HEIGHT - 2 * _MARGIN)
