"""Joins parsed documents, such as the attachments of an e-mail, each under a heading."""

from dataclasses import replace

from rag.types import Heading, ParsedDocument

_MAX_LEVEL = 6


class Joiner:
    """Collects documents. Their headings are one level lower than the headings that are added here."""

    def __init__(self, first: ParsedDocument | None = None) -> None:
        self._texts = [first.text] if first and first.text else []
        self._characters = len(first.text) if first else 0
        self._headings = list(first.headings) if first else []
        self._recognitions = list(first.recognitions) if first else []

    def add(self, heading: str, parsed: ParsedDocument) -> None:
        """Add a document under a heading. Documents without text leave only the heading."""
        if self._texts:
            self._append("\n\n")
        heading = " ".join(heading.split())[:200] or "Untitled"
        self._headings.append(Heading(self._characters, 1, heading))
        self._recognitions += parsed.recognitions
        self._append(f"# {heading}")
        if parsed.text.strip():
            self._append("\n\n")
            self._headings += [
                replace(inner, start=self._characters + inner.start, level=min(inner.level + 1, _MAX_LEVEL))
                for inner in parsed.headings
            ]
            self._append(parsed.text)

    def _append(self, text: str) -> None:
        # A list: adding to a long text again and again would take quadratic time.
        self._texts.append(text)
        self._characters += len(text)

    def build(self, *, title: str = "") -> ParsedDocument:
        """Return the joined document."""
        return ParsedDocument(
            "".join(self._texts),
            is_markdown=True,
            headings=tuple(self._headings),
            title=title,
            recognitions=tuple(self._recognitions),
        )
