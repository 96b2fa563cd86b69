"""python -m benchmarks.ingestion.scans [FONT …]: character errors and CPU time of text recognition.

Pages of benchmarks/data/scans.jsonl (six languages, with accents) are drawn in each font as scans with 200 dots per
inch: clean, at an angle, noisy, and both. White space and the shape of quotation marks do not count as errors.

With RAG_OCR_TESSERACT_LANGUAGES=rus+ara, the pages are those of benchmarks/data/scans_tesseract.jsonl, which Tesseract
reads; the fonts must have their letters (DejaVu Sans has them).
"""

import json
import os
import re
import sys
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from statistics import fmean, median

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from rag.parsing.markdown_builder import MarkdownBuilder
from rag.parsing.ocr.recognize_picture import recognize_picture
from rag.parsing.ocr.tesseract.languages import find_program
from rag.parsing.sandbox.limits import Limits

_LANGUAGES = os.environ.get("RAG_OCR_TESSERACT_LANGUAGES", "")
_TEXTS = Path(__file__).parents[1] / "data" / ("scans_tesseract.jsonl" if _LANGUAGES else "scans.jsonl")
_FONTS = [f"/usr/share/fonts/truetype/liberation/Liberation{name}-Regular.ttf" for name in ("Serif", "Sans")]
_PAGE = (1654, 2339)
_MARGIN = 150
# Sizes of type in pixels: 8 and 11 points.
_SIZES = (22, 31)
_QUOTES = str.maketrans({**dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‘’", "'")})


def main(fonts: list[str]) -> None:
    """Print the median, mean and largest share of wrong characters, and the CPU time per page."""
    limits = Limits(
        timeout_seconds=600,
        memory_bytes=2**30,
        text_bytes=2**20,
        ocr_timeout_seconds=600,
        tesseract_program=find_program() if _LANGUAGES else "",
        tesseract_languages=_LANGUAGES,
    )
    errors: dict[tuple[str, str], list[float]] = defaultdict(list)
    seconds: dict[str, list[float]] = defaultdict(list)
    for row in map(json.loads, _TEXTS.read_text().splitlines()):
        for font in fonts:
            for size in _SIZES:
                page, expected = _draw(row["text"], ImageFont.truetype(font, size))
                for kind, picture in _scans(page):
                    start = sum(os.times()[:4])
                    builder = MarkdownBuilder()
                    recognize_picture(picture, builder, limits)
                    seconds[kind].append(sum(os.times()[:4]) - start)
                    target = _comparable(expected)
                    share = _distance(target, _comparable(builder.build().text)) / len(target)
                    errors[kind, row["lang"]].append(share)
                    print(f"{row['lang']} {Path(font).stem} {size} {kind}: {share:.4f}", file=sys.stderr, flush=True)
    print("| scan | language | pages | median | mean | largest | CPU s per page |\n" + "| --- " * 7 + "|")
    for (kind, lang), shares in sorted(errors.items()):
        figures = " | ".join(f"{value:.2%}" for value in (median(shares), fmean(shares), max(shares)))
        print(f"| {kind} | {lang} | {len(shares)} | {figures} | {fmean(seconds[kind]):.1f} |")


def _draw(text: str, font: ImageFont.FreeTypeFont) -> tuple[Image.Image, str]:
    """Return a page filled with paragraphs of the text, and what stands on it."""
    page = Image.new("RGB", _PAGE, "white")
    draw, y, written = ImageDraw.Draw(page), float(_MARGIN), []
    height, width = font.size * 1.45, _PAGE[0] - 2 * _MARGIN
    while y + height * len(text) * font.size / 2 / width < _PAGE[1] - _MARGIN:
        for line in _lines(text, lambda line: draw.textlength(line, font=font) <= width):
            draw.text((_MARGIN, y), line, font=font, fill="black")
            y += height
        y += height
        written.append(text)
    return page, " ".join(written)


def _lines(text: str, fits: Callable[[str], bool]) -> Iterator[str]:
    line = ""
    for word in text.split():
        longer = f"{line} {word}".strip()
        if not fits(longer):
            yield line
            longer = word
        line = longer
    yield line


def _scans(page: Image.Image) -> Iterator[tuple[str, Image.Image]]:
    yield "clean", page
    yield "skewed", _skew(page, 3)
    yield "noisy", _add_noise(page)
    yield "skewed and noisy", _add_noise(_skew(page, -2))


def _skew(page: Image.Image, degrees: float) -> Image.Image:
    return page.rotate(degrees, Image.Resampling.BICUBIC, fillcolor="white")


def _add_noise(page: Image.Image) -> Image.Image:
    """Blur, less contrast, grain, specks, and a JPEG of low quality."""
    random = np.random.default_rng(1)
    pixels = np.asarray(page.filter(ImageFilter.GaussianBlur(1)), dtype=np.float64) * 0.75 + 40
    pixels += random.normal(0, 22, pixels.shape)
    specks = random.random(pixels.shape[:2])
    pixels[specks < 0.003], pixels[specks > 0.997] = 0, 255
    file = BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(file, "JPEG", quality=40)
    return Image.open(file).convert("RGB")


def _comparable(text: str) -> str:
    return re.sub(r"\s+", " ", unicodedata.normalize("NFKC", text).translate(_QUOTES)).strip()


def _distance(text: str, other: str) -> int:
    """Return the number of characters to insert, delete or replace (Levenshtein)."""
    codes, columns = np.array([ord(character) for character in other]), np.arange(len(other) + 1)
    row = columns.copy()
    for number, character in enumerate(text, 1):
        costs = np.concatenate([[number], np.minimum(row[:-1] + (codes != ord(character)), row[1:] + 1)])
        row = np.minimum.accumulate(costs - columns) + columns
    return int(row[-1])


if __name__ == "__main__":
    main(sys.argv[1:] or _FONTS)
