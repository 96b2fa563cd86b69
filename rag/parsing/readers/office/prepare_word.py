"""What is changed in Word documents so that xberg reads them as Word shows them."""

import posixpath
import re
from collections.abc import Iterator
from functools import partial

from lxml import etree

from rag.parsing.encodings.symbol_letters import letter_of_symbol

from .beside_text import word_boxes, word_formulas, word_notes
from .beside_text.word_paragraph import word_paragraph
from .headings import word_headings
from .numbering.word_numbers import WordNumbers
from .numbering.write_word_labels import write_labels
from .prepare_for_xberg import ANY_CONTENT, change_member, read_part, replace_members, with_marks

_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_OFF = ("0", "false", "off")
_CODE, _SURROGATES = re.compile(r"[0-9A-Fa-f]{1,4}"), 0xD800
_TEXT_LEVEL = re.compile(rb"outlineLvl [^>]{0,100}9")
_RELATIONS = "word/_rels/document.xml.rels"
_NOTES = {"footnote": "word/footnotes.xml", "endnote": "word/endnotes.xml"}
# What is shown at other places or not at all: remarks of reviewers are not part of a text.
_EMPTIED = {
    **{part: f"{kind}s" for kind, part in _NOTES.items()},
    "word/comments.xml": "comments",
}


def prepare_word(content: bytes) -> bytes:
    """Return a Word document without hidden text, what was moved away and remarks, and with plain names of styles.

    Paragraphs that are headings only by their type have the style of headings. The numbers of lists and headings are
    text, and so are notes, boxes, charts, diagrams and formulas. Asterisks and carets have another sign: xberg writes
    them as they are, like those of emphasis and of raised letters.
    """
    content = change_member(content, "word/document.xml", ANY_CONTENT, partial(_change, content))
    content = change_member(content, "word/styles.xml", _TEXT_LEVEL, _remove_text_levels)
    emptied = {
        member: f'<w:{tag} xmlns:w="{_WORD[1:-1]}"/>'.encode()
        for member, tag in _EMPTIED.items()
        if read_part(content, member, strict=False) is not None
    }
    return replace_members(content, emptied) if emptied else content


def _change(content: bytes, root: etree._Element) -> None:
    styles, numbering = read_part(content, "word/styles.xml"), read_part(content, "word/numbering.xml", strict=False)
    word_boxes.remove_alternatives(root)
    _remove_text_levels(root)
    _remove_hidden(root, styles)
    _write_symbols(root)
    word_formulas.write_formulas(root)
    _write_form_fields(root)
    for style in root.iter(f"{_WORD}pStyle"):
        style.set(f"{_WORD}val", style.get(f"{_WORD}val", "").replace(" ", ""))
    labels = WordNumbers(styles, numbering).labels(root)
    headings = word_headings.mark_headings(root, styles, labels)
    write_labels(labels, headings)
    word_boxes.move_boxes(root)
    word_boxes.write_charts(root, partial(_find_part, content, _read_targets(content)))
    notes = {kind: read_part(content, member, strict=False) for kind, member in _NOTES.items()}
    word_notes.write_notes(root, {kind: part for kind, part in notes.items() if part is not None}, headings)
    for text in root.iter(f"{_WORD}t"):
        text.text = with_marks(text.text or "")


def _remove_text_levels(root: etree._Element) -> None:
    """Remove the level of text, which xberg takes for one of headings."""
    for level in list(root.iter(f"{_WORD}outlineLvl")):
        if level.get(f"{_WORD}val") == "9":
            _remove(level)


def _remove_hidden(root: etree._Element, styles: etree._Element | None) -> None:
    hidden_styles = set(_hidden_styles(styles))
    for run in list(root.iter(f"{_WORD}r")):
        mark, style = run.find(f"{_WORD}rPr/{_WORD}vanish"), run.find(f"{_WORD}rPr/{_WORD}rStyle")
        is_hidden = style is not None and style.get(f"{_WORD}val", "") in hidden_styles
        if mark is not None:
            is_hidden = mark.get(f"{_WORD}val", "true") not in _OFF
        if is_hidden:
            _remove(run)
    # How the signs of a word are read is printed above it. What is read aloud for a table is not shown.
    for left_out in list(
        root.iter(*(f"{_WORD}{name}" for name in ("moveFrom", "commentReference", "rt", "tblCaption")))
    ):
        _remove(left_out)


def _write_symbols(root: etree._Element) -> None:
    """Turn the signs of symbol fonts into text: xberg leaves them out."""
    for symbol in root.iter(f"{_WORD}sym"):
        code, font = symbol.get(f"{_WORD}char", ""), symbol.get(f"{_WORD}font", "")
        number = int(code, 16) if _CODE.fullmatch(code) else 0
        letter = letter_of_symbol(number, font) or (chr(number) if 0 < number < _SURROGATES else "")
        if letter:
            symbol.tag, symbol.text = f"{_WORD}t", letter


def _write_form_fields(root: etree._Element) -> None:
    """Write boxes that are ticked or not, and what is chosen of a list, as text before their fields."""
    for data in root.iter(f"{_WORD}ffData"):
        run = next(data.iterancestors(f"{_WORD}r"), None)
        box, choices = data.find(f"{_WORD}checkBox"), data.find(f"{_WORD}ddList")
        text = ""
        if box is not None:
            mark = box.find(f"{_WORD}checked")
            mark = box.find(f"{_WORD}default") if mark is None else mark
            text = "☒" if mark is not None and mark.get(f"{_WORD}val", "1") not in _OFF else "☐"
        elif choices is not None:
            entries = [entry.get(f"{_WORD}val", "") for entry in choices.findall(f"{_WORD}listEntry")]
            chosen = choices.find(f"{_WORD}result")
            number = "0" if chosen is None else chosen.get(f"{_WORD}val", "")[:9]
            text = entries[int(number)] if number.isdecimal() and int(number) < len(entries) else ""
        if text and run is not None:
            run.addprevious(word_paragraph(text)[0])


def _hidden_styles(styles: etree._Element | None) -> Iterator[str]:
    """Yield the styles of characters that are hidden, by their ids."""
    for style in () if styles is None else styles.iter(f"{_WORD}style"):
        mark = style.find(f"{_WORD}rPr/{_WORD}vanish")
        is_hidden = mark is not None and mark.get(f"{_WORD}val", "true") not in _OFF
        if is_hidden and style.get(f"{_WORD}type") == "character":
            yield style.get(f"{_WORD}styleId", "")


def _read_targets(content: bytes) -> dict[str, str]:
    """Return the members that the text refers to, by the ids of the references."""
    relations = read_part(content, _RELATIONS, strict=False)
    return {
        relation.get("Id", ""): posixpath.normpath(posixpath.join("/word", relation.get("Target", ""))).lstrip("/")
        for relation in (() if relations is None else relations)
        if relation.get("TargetMode") != "External"
    }


def _find_part(content: bytes, targets: dict[str, str], reference: str) -> etree._Element | None:
    return read_part(content, targets.get(reference, ""), strict=False)


def _remove(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)
