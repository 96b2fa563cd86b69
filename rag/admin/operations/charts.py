"""Bar charts over time, drawn as SVG by the template."""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.formats import number_format
from django.utils.translation import gettext

_WIDTH, _HEIGHT, _GAP = 480, 96, 3
_TIME = "%H:%M"


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: its rectangle, and what is shown when it is pointed at."""

    x: str
    y: str
    width: str
    height: str
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A bar chart.

    Attributes:
        summary: The chart in a sentence, for those who do not see it.
    """

    title: str
    summary: str
    bars: tuple[Bar, ...]
    first: datetime.datetime
    last: datetime.datetime
    highest: str
    width: int = _WIDTH
    height: int = _HEIGHT


def build_chart(
    title: str, points: Sequence[tuple[datetime.datetime, float | None]], *, unit: str = ""
) -> Chart | None:
    """Return the coordinates of the chart; None if no point has a value.

    Args:
        title: What is counted.
        points: The start of each hour, with its value; None if nothing was measured in it.
        unit: What follows a value.
    """
    values = [value for _, value in points if value is not None]
    if not any(values):
        return None
    highest, step = max(values), _WIDTH / len(points)

    def text_of(value: float) -> str:
        decimals = 0 if value >= 10 or value == int(value) else 2
        return f"{number_format(f'{value:.{decimals}f}', decimals, force_grouping=True)}{unit}"

    bars = []
    for index, (start, value) in enumerate(points):
        height = _HEIGHT * (value or 0) / highest
        label = text_of(value) if value is not None else gettext("nothing measured")
        bars.append(
            Bar(
                x=f"{step * index + _GAP / 2:.1f}",
                y=f"{_HEIGHT - height:.1f}",
                width=f"{max(1.0, step - _GAP):.1f}",
                height=f"{height:.1f}",
                text=f"{start:{_TIME}}: {label}",
            )
        )
    peak = next(start for start, value in points if value == highest)
    last = points[-1][1]
    summary = gettext("{title}: highest {highest}, at {time} UTC")
    summary = summary.format(title=title, highest=text_of(highest), time=format(peak, _TIME))
    if last is not None:
        summary += gettext("; now {value}").format(value=text_of(last))
    return Chart(title, summary, tuple(bars), points[0][0], points[-1][0], text_of(highest))
