"""Ligatures of fonts that do not say which letters they are: "ti", "ft" and "tt" of Word's fonts, for example.

Their widths say it, because a ligature is about as wide as its letters. Those with a sign of their own in Unicode, such
as "fi", are written with it.
"""

import ctypes
import math
import re
from collections import defaultdict
from collections.abc import Sequence
from statistics import median

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

# What pdfium writes for a sign without a letter; and letters of other scripts within a Latin word, which some programs
# of TeX name instead.
_UNKNOWN = re.compile("\ufffd|(?<=[a-zA-Z])[\u0590-\u08ff](?=[a-z])")
# Of a page; and how many letters show the widths of those of a font.
_MAX_LIGATURES, _MAX_LETTERS, _MAX_NAME_BYTES = 3_000, 5_000, 200
# How wide a ligature of Calibri and fonts like it is, relative to its letters; and how far it may be from that, in
# heights of a letter.
_WIDTHS = {"ti": 0.99, "ft": 0.95, "tt": 0.95, "tti": 0.96}
_MAX_DIFFERENCE = 0.02


def find_ligatures(text_page: pdfium.PdfTextPage, characters: Sequence[str]) -> dict[int, str]:
    """Return the letters of ligatures by the number of their sign.

    Args:
        text_page: The text layer of the page.
        characters: Its characters.
    """
    places = [sign.start() for sign in _UNKNOWN.finditer("".join(characters))]
    places = [place for place in places if _is_in_word(characters, place)]
    if not 0 < len(places) <= _MAX_LIGATURES:
        return {}
    widths = defaultdict[tuple[bytes, str], list[float]](list)  # by font and letter; b"": of all fonts
    letters = [place for place, character in enumerate(characters) if character in ("f", "i", "t")]
    for place in letters[:_MAX_LETTERS]:
        for font in (_font(text_page, place), b""):
            widths[font, characters[place]].append(_width(text_page, place))
    known = {key: median(values) for key, values in widths.items()}
    ligatures = {place: _letters(known, _font(text_page, place), _width(text_page, place)) for place in places}
    return {place: ligature for place, ligature in ligatures.items() if ligature}


def _is_in_word(characters: Sequence[str], place: int) -> bool:
    return any(
        character.isalpha()
        for character in (*characters[max(place - 1, 0) : place], *characters[place + 1 : place + 2])
    )


def _letters(known: dict[tuple[bytes, str], float], font: bytes, width: float) -> str:
    """Return the letters of a ligature; empty if no known one has about this width."""
    if not all((b"", letter) in known for letter in "fit"):
        return ""
    widths = {letter: known.get((font, letter), known[b"", letter]) for letter in "fit"}
    difference, ligature = min(
        (abs(width - share * sum(widths[letter] for letter in ligature)), ligature)
        for ligature, share in _WIDTHS.items()
    )
    return ligature if difference <= _MAX_DIFFERENCE else ""


def _font(text_page: pdfium.PdfTextPage, number: int) -> bytes:
    name, flags = ctypes.create_string_buffer(_MAX_NAME_BYTES), ctypes.c_int()
    pdfium_c.FPDFText_GetFontInfo(text_page, number, name, _MAX_NAME_BYTES, flags)
    return name.value


def _width(text_page: pdfium.PdfTextPage, number: int) -> float:
    """Return how far the next letter is, in heights of a letter."""
    box, matrix = pdfium_c.FS_RECTF(), pdfium_c.FS_MATRIX()
    pdfium_c.FPDFText_GetLooseCharBox(text_page, number, box)
    pdfium_c.FPDFText_GetMatrix(text_page, number, matrix)
    size = pdfium_c.FPDFText_GetFontSize(text_page, number) * math.hypot(matrix.c, matrix.d)
    return float(box.right - box.left) / (size or 1.0)
