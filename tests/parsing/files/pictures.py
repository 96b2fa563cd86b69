"""Pictures of text, as scanners make them."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

# Six lines in a font with serifs, as drawn: Pillow's own font has no accents, and machines have different ones.
ACCENTS = (
    "The meeting costs £12,500 a year.",
    "Größe und Straße prüfen: 3,80 €",
    "Où est le garçon, près du château de Noël?",
    "¿Cuándo llegará mañana la señora Núñez?",
    "Perché la città è più bella così?",
    "Drieëntwintig vacatures, één coördinator.",
)


def accents() -> Image.Image:
    """A picture of ACCENTS."""
    with Image.open(Path(__file__).parent / "accents.png") as picture:
        return picture.convert("RGB")


def page(lines: Sequence[str], *, size: int = 28, width: int = 900) -> Image.Image:
    """Black lines of text on white."""
    picture = Image.new("RGB", (width, int(size * 1.6) * (len(lines) + 2)), "white")
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(size)
    for number, line in enumerate(lines, 1):
        draw.text((size, int(size * 1.6) * number), line, font=font, fill="black")
    return picture


def skewed(picture: Image.Image, degrees: float = 3) -> Image.Image:
    """As if the paper had been laid on the scanner at an angle."""
    return picture.rotate(degrees, Image.Resampling.BICUBIC, expand=True, fillcolor="white")


def noisy(picture: Image.Image) -> Image.Image:
    """Grey, blurred and speckled, always in the same way."""
    random = np.random.default_rng(1)
    pixels = np.asarray(picture.filter(ImageFilter.GaussianBlur(0.8)), dtype=np.float64) * 0.75 + 40
    pixels += random.normal(0, 20, pixels.shape)
    specks = random.random(pixels.shape[:2])
    pixels[specks < 0.002] = 0
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def encoded(*pictures: Image.Image, kind: str) -> bytes:
    """The pictures as a file of this kind (PNG, JPEG, TIFF, WEBP or PDF); one page each."""
    file = BytesIO()
    more = {"save_all": True, "append_images": pictures[1:]} if len(pictures) > 1 else {}
    pictures[0].save(file, kind, **more)
    return file.getvalue()
