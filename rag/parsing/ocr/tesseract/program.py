"""Tesseract, a program that reads scripts which the built-in models do not know. It is optional.

It runs beside the parser of one document, in its process group and folder, with the same limits of time and memory and
an environment without secrets. It gets the picture on standard input, and no shell is involved.
"""

import math
import resource
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import groupby
from typing import TYPE_CHECKING

from rag.parsing.ocr.lines import Line
from rag.parsing.ocr.regions import Rectangle
from rag.parsing.sandbox.limits import Limits

if TYPE_CHECKING:
    from PIL.Image import Image

# The table of words that it prints. A page has about 30 KB.
_MAX_OUTPUT_BYTES = 16 * 2**20
_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "OMP_THREAD_LIMIT": "1"}
# Lines below this mean confidence are specks and ornaments, not text.
_MIN_CONFIDENCE = 0.3
# If it estimates the resolution, it sometimes finds no text on a page.
_RESOLUTION = ("--dpi", "200")
_WORD_LEVEL = "5"
_COLUMNS = 12

Paragraph = list[Line]
# Level, page, block, paragraph, line, word; left, top, width, height; confidence in percent; text.
_Row = list[str]


def read_paragraphs(picture: "Image", limits: Limits) -> list[Paragraph]:
    """Return the lines of a picture by paragraphs, in reading order; none if the program fails.

    Args:
        picture: The picture. It is not turned.
        limits: The limits, with the program and its languages.
    """
    words = [row for row in _words(_run(picture, limits)) if _is_on(picture, row)]
    paragraphs = []
    for _, rows in groupby(words, key=lambda row: row[1:4]):
        lines = [_join_words(list(line), picture) for _, line in groupby(rows, key=lambda row: row[4])]
        paragraphs.append([line for line in lines if line.confidence >= _MIN_CONFIDENCE])
    return [paragraph for paragraph in paragraphs if paragraph]


def _run(picture: "Image", limits: Limits) -> str:
    """Return what the program prints about a picture; empty if it fails."""
    file = BytesIO()
    picture.save(file, "PPM")
    arguments = [limits.tesseract_program, "-", "-", "-l", limits.tesseract_languages, *_RESOLUTION, "tsv"]
    with tempfile.TemporaryFile(dir=".") as output:  # in the folder of the sandbox
        try:
            process = subprocess.Popen(
                arguments, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.DEVNULL, env=_ENVIRONMENT
            )
        except OSError:
            return ""
        try:
            # It waits for the picture, so that the limits apply before it has read anything. That of the CPU time is
            # inherited.
            for name, value in ((resource.RLIMIT_AS, limits.memory_bytes), (resource.RLIMIT_FSIZE, _MAX_OUTPUT_BYTES)):
                resource.prlimit(process.pid, name, (value, value))
            process.communicate(file.getvalue(), timeout=limits.max_seconds)
        except (OSError, subprocess.TimeoutExpired):
            return ""
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            return ""
        output.seek(0)
        return output.read(_MAX_OUTPUT_BYTES).decode("utf-8", "replace")


def _words(table: str) -> Iterator[_Row]:
    for line in table.splitlines():
        row = line.split("\t")
        if len(row) == _COLUMNS and row[0] == _WORD_LEVEL and row[11].strip():
            yield row


def _is_on(picture: "Image", row: _Row) -> bool:
    """Return whether the numbers of a word are a box in the picture and a confidence."""
    try:
        left, top, width, height = map(int, row[6:10])
        confidence = float(row[10])
    except ValueError:
        return False
    return (
        min(left, top) >= 0
        and min(width, height) > 0
        and left + width <= picture.width
        and top + height <= picture.height
        and math.isfinite(confidence)
    )


def _join_words(rows: Sequence[_Row], picture: "Image") -> Line:
    boxes = [tuple(map(int, row[6:10])) for row in rows]
    left, top = min(box[0] for box in boxes), min(box[1] for box in boxes)
    right, bottom = max(box[0] + box[2] for box in boxes), max(box[1] + box[3] for box in boxes)
    texts = [row[11].strip() for row in rows]
    confidence = sum(float(row[10]) * len(text) for row, text in zip(rows, texts, strict=True))
    return Line(
        " ".join(texts),
        confidence / 100 / sum(map(len, texts)),
        Rectangle((left + right) / 2, (top + bottom) / 2, right - left, bottom - top, 0.0),
        (left / picture.width, top / picture.height, right / picture.width, bottom / picture.height),
    )
