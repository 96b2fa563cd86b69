"""Draws bar charts and line charts as SVG, without a library."""

from collections.abc import Sequence
from html import escape

_WIDTH, _HEIGHT, _MARGIN = 720, 360, 50
_COLOURS = ("#4e79a7", "#f28e2b", "#59a14f", "#e15759", "#76b7b2", "#b07aa1", "#9c755f", "#bab0ac")


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
    axes: tuple[str, str],
    guide: Sequence[tuple[float, float]] = (),
) -> bytes:
    parts = [_path(guide, "#999", "stroke-dasharray='4 4'")] if guide else []
    for number, (name, points) in enumerate(by_set.items()):
        parts.append(_path(points, _colour(number), f"><title>{escape(name)}</title></polyline"))
    parts += [_text(_x(value), _y(0) + 16, f"{value:g}", anchor="middle") for value in (0, 0.25, 0.5, 0.75, 1)]
    parts.append(_text(_WIDTH / 2, _HEIGHT - 4, axes[0], anchor="middle"))
    parts.append(_text(_MARGIN, _MARGIN - 8, axes[1]))
    return _page(title, parts, list(by_set))


def _path(points: Sequence[tuple[float, float]], colour: str, more: str) -> str:
    places = " ".join(f"{_x(x):.1f},{_y(y):.1f}" for x, y in points)
    closed = more if more.startswith(">") else f"{more} /"
    return f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2" {closed}>'


def _page(title: str, parts: Sequence[str], legend: Sequence[str]) -> bytes:
    grid = [
        f'<line x1="{_MARGIN}" x2="{_WIDTH - _MARGIN}" y1="{_y(value):.1f}" y2="{_y(value):.1f}" stroke="#ddd"/>'
        + _text(_MARGIN - 6, _y(value) + 4, f"{value:g}", anchor="end")
        for value in (0, 0.2, 0.4, 0.6, 0.8, 1)
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
