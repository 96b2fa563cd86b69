"""The texts of charts and diagrams (DrawingML)."""

from collections.abc import Iterator

from lxml import etree

_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"


def read_paragraphs(element: etree._Element) -> Iterator[str]:
    """Yield the paragraphs of a shape, chart or diagram that have text."""
    for paragraph in element.iter(f"{_DRAWING}p"):
        if words := read_words(paragraph):
            yield words


def read_words(paragraph: etree._Element) -> str:
    """Return the text of a paragraph, with its line breaks."""
    parts = paragraph.iter(f"{_DRAWING}t", f"{_DRAWING}br")
    return "".join("\n" if part.tag == f"{_DRAWING}br" else part.text or "" for part in parts).strip()


def read_chart_rows(chart: etree._Element) -> list[list[str]]:
    """Return the data of a chart as a table: a column for each category, and a row for each series."""
    series = list(chart.iter(f"{_CHART}ser"))
    if not series:
        return []
    rows = [["".join(_values(row, "tx")), *_values(row, "val")] for row in series]
    return [["", *_values(series[0], "cat")], *rows]


def _values(series: etree._Element, kind: str) -> list[str]:
    part = series.find(f"{_CHART}{kind}")
    return [] if part is None else [value.text for value in part.iter(f"{_CHART}v") if value.text]
