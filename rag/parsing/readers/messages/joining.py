"""Joins parsed documents, such as the attachments of an e-mail, each under a heading."""

from dataclasses import replace

from rag.types import Heading, ParsedDocument

_MAX_LEVEL = 6


class Joiner:
    """Collects documents. Their headings are one level lower than the headings that are added here."""

    def __init__(self, first: ParsedDocument | None = None) -> None:
        self._text = first.text if first else ""
        self._headings = list(first.headings) if first else []

    def add(self, heading: str, parsed: ParsedDocument) -> None:
        """Add a document under a heading. Documents without text leave only the heading."""
        self._text += "\n\n" if self._text else ""
        heading = " ".join(heading.split())[:200] or "Untitled"
        self._headings.append(Heading(len(self._text), 1, heading))
        self._text += f"# {heading}\n\n"
        start = len(self._text)
        self._headings += [
            replace(inner, start=start + inner.start, level=min(inner.level + 1, _MAX_LEVEL))
            for inner in parsed.headings
        ]
        self._text = self._text + parsed.text if parsed.text.strip() else self._text.rstrip()

    def build(self, *, title: str = "") -> ParsedDocument:
        """Return the joined document."""
        return ParsedDocument(self._text, True, tuple(self._headings), (), title)
