"""Opens files with pictures, as their readers see them."""

from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING

from rag.errors import ParseFailed

if TYPE_CHECKING:
    from PIL.Image import Image

# A page of 30 x 40 cm with 600 dots per inch.
_MAX_PIXELS = 67_000_000
# Larger pictures are reduced: a page of A4 with 350 dots per inch.
_MAX_SIDE = 4200
# From here on of 255, a pixel is visible, and is bright.
_VISIBLE = _BRIGHT = 128


def open_pictures(content: bytes, *, first: int = 1) -> Iterator["Image"]:
    """Yield the pictures of a file in RGB, upright and without transparency, beginning with the one of this number.

    Raises:
        ParseFailed: If the file is damaged or a picture too large.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    Image.MAX_IMAGE_PIXELS = None  # checked here, with an error of our own
    try:
        with Image.open(BytesIO(content), formats=("PNG", "JPEG", "TIFF", "WEBP")) as file:
            for number in range(first - 1, getattr(file, "n_frames", 1) if file.format == "TIFF" else 1):
                file.seek(number)
                if file.width * file.height > _MAX_PIXELS:
                    millions = _MAX_PIXELS // 10**6
                    raise ParseFailed(f"The picture has more than {millions} million pixels. Send it smaller.")
                file.draft("RGB", (_MAX_SIDE, _MAX_SIDE))
                picture = ImageOps.exif_transpose(file)
                if picture.has_transparency_data:
                    picture = picture.convert("RGBA")
                    background = "black" if _is_bright(picture) else "white"
                    picture = Image.alpha_composite(Image.new("RGBA", picture.size, background), picture)
                picture = _as_rgb(picture)
                picture.thumbnail((_MAX_SIDE, _MAX_SIDE))
                yield picture
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError, EOFError) as error:
        raise ParseFailed("The picture is damaged or cut off. Open it, save it again and send that.") from error


def _is_bright(picture: "Image") -> bool:
    """Return whether all that is visible of a picture is bright, as drawings for a dark background are."""
    visible = picture.getchannel("A").point(lambda alpha: 255 * (alpha >= _VISIBLE))
    brightness = picture.convert("L").histogram(visible)
    return any(brightness) and not any(brightness[:_BRIGHT])


def _as_rgb(picture: "Image") -> "Image":
    if picture.mode.startswith("I;16"):  # 16 bits: Pillow would cut off values instead of scaling them
        picture = picture.convert("I").point(lambda value: value / 256).convert("L")
    return picture.convert("RGB")
