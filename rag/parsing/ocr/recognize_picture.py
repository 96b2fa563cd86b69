"""Recognises the text of one picture, with the engine that knows its script."""

import itertools
import time
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rag.parsing.markdown_builder import MarkdownBuilder
from rag.parsing.sandbox.limits import Limits, allow_ocr_time
from rag.types import Recognition

from . import layout, lines
from .lines import Line
from .recognized_page import RecognizedPage
from .tesseract import program
from .tesseract.program import Paragraph

if TYPE_CHECKING:
    from PIL.Image import Image

# If the built-in models are less sure of a page than this, they may not know its script: they read Russian as similar
# Latin letters, and are sure of 0.80 to 0.95 of them.
_DOUBTFUL = 0.96
# Tesseract is less sure than this of pages in a script that it was not asked for.
_MIN_SURE = 0.6
# How the Unicode names of letters begin that the built-in models know.
_KNOWN_SCRIPTS = ("LATIN", "GREEK", "CJK", "HIRAGANA", "KATAKANA", "FULLWIDTH LATIN")


def recognize_picture(picture: "Image", builder: MarkdownBuilder, limits: Limits) -> RecognizedPage:
    """Recognise the text of a picture, and add it to a document. The result has the lines only.

    Tesseract, if there is one, reads the pictures of documents in one of its languages, unless the built-in models are
    surer of them: a document may have pages in another language. Of other documents it reads the pictures of which the
    built-in models are not sure and in which it finds a script that they do not know.
    """
    allow_ocr_time()
    started = time.monotonic()
    paragraphs: list[Paragraph] = []
    recognized: list[Line] = []
    if limits.tesseract_program and limits.has_tesseract_language:
        paragraphs = program.read_paragraphs(picture, limits)
    if not _is_sure(list(itertools.chain(*paragraphs))):
        recognized = lines.read_lines(picture)
        if _mean_confidence(recognized) >= _DOUBTFUL:
            paragraphs = []
        elif limits.tesseract_program and not limits.has_tesseract_language:
            read = program.read_paragraphs(picture, limits)
            paragraphs = read if _has_other_script(list(itertools.chain(*read))) else []
    if paragraphs:
        for paragraph in paragraphs:
            builder.add_paragraph(layout.join_lines(line.text for line in paragraph))
        ordered = list(itertools.chain(*paragraphs))
    else:
        ordered = layout.add_lines(builder, [line for line in recognized if lines.is_probable(line)])
    engine = "tesseract" if paragraphs else "built-in"
    return RecognizedPage(tuple(ordered), Recognition(engine, time.monotonic() - started))


def _mean_confidence(recognized: Sequence[Line]) -> float:
    """Return the mean probability of the characters; 1 without lines: then there is nothing to read."""
    weights = [len(line.text) or 1 for line in recognized]
    confidences = (line.confidence * weight for line, weight in zip(recognized, weights, strict=True))
    return sum(confidences) / sum(weights) if recognized else 1.0


def _is_sure(recognized: Sequence[Line]) -> bool:
    """Return whether Tesseract has found lines and is sure of them."""
    return bool(recognized) and _mean_confidence(recognized) >= _MIN_SURE


def _has_other_script(recognized: Sequence[Line]) -> bool:
    """Return whether Tesseract is sure of its lines, and most letters are of scripts that the built-in models lack."""
    letters = [character for line in recognized for character in line.text if character.isalpha()]
    known = sum(unicodedata.name(letter, "").startswith(_KNOWN_SCRIPTS) for letter in letters)
    return known < len(letters) / 2 and _is_sure(recognized)
