"""The limits of parsing, with their numbers, and the request to a parser process.

Others are settings: RAG_PARSE_TIMEOUT_SECONDS, RAG_PARSE_MAX_MEMORY_MB, RAG_OCR_MAX_PAGES.
"""

import resource
from dataclasses import dataclass
from typing import TypedDict

from ragsite.http.bodies.json_types import JsonObject

# The maximum size of a document's text in UTF-8, and of its title.
MAX_TEXT_BYTES = 200 * 2**20
MAX_TITLE_CHARACTERS = 1_000
# The maximum number of headings and of pages.
MAX_HEADINGS = 200_000
# The maximum number of recognised lines whose boxes are kept. A page has about 50.
MAX_LINE_BOXES = 50_000
# The maximum size of the picture of a page, and the time that a reader waits for it.
MAX_PICTURE_BYTES = 4 * 2**20
PICTURE_TIMEOUT_SECONDS = 15.0
# How many documents are parsed at the same time; others wait.
MAX_CONCURRENT_DOCUMENTS = 4
# The response file has this much space beyond the document's text: it also contains the headings and pages.
RESPONSE_MARGIN_BYTES = 2**20
# Exit code of a fork that exceeded its memory limit.
EXIT_OUT_OF_MEMORY = 2
# The file in the working folder that receives the fork's standard error.
STDERR_FILE = "stderr"


class PictureRequest(TypedDict):
    """The pages of which one is drawn, the passage that is marked on it, and the boxes of its recognised lines."""

    pages: list[int]
    passage: str
    line_boxes: list[JsonObject]


class ParseRequest(TypedDict):
    """One document to parse, as JSON on the parser's standard input: paths of the file and of the working folder.

    With a picture, a page is drawn instead.
    """

    file: str
    media_type: str
    folder: str
    limits: JsonObject
    picture: PictureRequest | None


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits for parsing one document.

    Attributes:
        timeout_seconds: The maximum of the CPU time without text recognition (OCR), and of the wall-clock time if it is
            off.
        memory_bytes: The maximum memory, in addition to that of an idle parser process.
        text_bytes: The maximum size of the resulting text in UTF-8.
        ocr_pages: How many pages and pictures may be read by text recognition; 0 if it is off.
        ocr_timeout_seconds: The maximum of both times if text is recognised; 0 if it is off.
        tesseract_program: The path of the program Tesseract; empty if it is not used.
        tesseract_languages: The languages in which it reads the document, such as `rus+ara`.
        has_tesseract_language: Whether the document's client says that it is in one of them.
    """

    timeout_seconds: float
    memory_bytes: int
    text_bytes: int
    ocr_pages: int = 0
    ocr_timeout_seconds: float = 0
    tesseract_program: str = ""
    tesseract_languages: str = ""
    has_tesseract_language: bool = False

    @property
    def max_seconds(self) -> float:
        """The maximum of the wall-clock time."""
        return max(self.timeout_seconds, self.ocr_timeout_seconds)

    @property
    def unpacked_bytes(self) -> int:
        """The unpacked size of all members of a ZIP container together."""
        return max(self.memory_bytes // 2, 1)


def allow_ocr_time() -> None:
    """Raise the limit of this process's CPU time to that of a document whose text is recognised."""
    _, hard_limit = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (hard_limit, hard_limit))
