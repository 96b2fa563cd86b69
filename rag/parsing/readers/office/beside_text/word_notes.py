"""Footnotes and endnotes of a Word document: their numbers are at their places, their texts at the end of the section.

xberg puts the numbers at the end of the paragraph, and the texts at the end of the document, below its last heading.
"""

from collections.abc import Collection, Mapping

from lxml import etree

from .word_paragraph import word_paragraph

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_KINDS = ("footnote", "endnote")
_TEXTS = tuple(f"{_WORD}{name}" for name in ("t", "tab", "br"))


def write_notes(
    root: etree._Element, parts: Mapping[str, etree._Element], headings: Collection[etree._Element]
) -> None:
    """Write the notes into the text, as those of Markdown: `[^1]`, and `[^1]: Text of the note` below.

    Args:
        root: The part `word/document.xml`, which is changed.
        parts: The parts `footnotes.xml` and `endnotes.xml` as "footnote" and "endnote", those that there are.
        headings: The paragraphs of the document that are headings.
    """
    texts = {
        (kind, note.get(f"{_WORD}id", "")): _text(note)
        for kind, part in parts.items()
        for note in part.iter(f"{_WORD}{kind}")
    }
    body = root.find(f"{_WORD}body")
    count, pending = 0, list[etree._Element]()
    for element in [] if body is None else list(body):
        if pending and (element in headings or element.tag == f"{_WORD}sectPr"):
            for note in pending:
                element.addprevious(note)
            pending = []
        for reference in list(element.iter(*(f"{_WORD}{kind}Reference" for kind in _KINDS))):
            kind = reference.tag.removeprefix(_WORD).removesuffix("Reference")
            text = texts.get((kind, reference.get(f"{_WORD}id", "")), "")
            if text:
                count += 1
                pending.append(word_paragraph(f"[^{count}]: {text}"))
                reference.text = f"[^{count}]"
                reference.tag = f"{_WORD}t"
            else:
                _remove(reference)
    if body is not None:
        body.extend(pending)


def _text(note: etree._Element) -> str:
    """Return the text of a note on one line."""
    paragraphs = (
        "".join(" " if part.tag != f"{_WORD}t" else part.text or "" for part in element.iter(*_TEXTS))
        for element in note.iter(f"{_WORD}p")
    )
    return " ".join(" ".join(paragraphs).split())


def _remove(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)
