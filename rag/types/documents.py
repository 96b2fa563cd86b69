"""Documents in the ingestion pipeline: submitted, parsed, chunked and indexed."""

import datetime
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from .long_text import DocumentText, LongText

# Where pages start is stored as a list without gaps. Only a broken file has a page with a larger number.
MAX_PAGE_NUMBER = 200_000


@dataclass(frozen=True, slots=True)
class Submission:
    """One document as a client submitted it.

    Attributes:
        text: The document's text; empty if it was uploaded as a file.
        original_id: Primary key of the uploaded file (rag.models.Original), None for a text.
        parse_error: Why the document cannot be read, if that is known before it is processed. The document is stored
            as failed; the other documents of its job are processed.
        parse_error_code: The error code that belongs to `parse_error`.
        force_reparse: Parse, chunk and embed the document even if its content has not changed.
    """

    path: str
    title: str
    text: str
    content_type: str = ""
    uri: str = ""
    lang: str = ""
    source_type: str = ""
    tags: tuple[str, ...] = ()
    date: datetime.datetime | None = None
    metadata: Mapping[str, object] = field(default_factory=dict)
    content_hash: str = ""
    original_id: uuid.UUID | None = None
    parse_error: str = ""
    parse_error_code: str = "PARSE_ERROR"
    force_reparse: bool = False


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of a document.

    Attributes:
        start: Character offset at which the heading's section begins.
        level: The level; 1 is the top level.
    """

    start: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a document.

    Attributes:
        start: Character offset of the page's first character.
        number: The page number, from 1.
    """

    start: int
    number: int


@dataclass(frozen=True, slots=True)
class LineBox:
    """Where a line that text recognition has read is on its page.

    Attributes:
        start: Character offset of the line's first character in the document's text.
        end: Character offset after its last character.
        page: The number of its page, from 1.
        left: The left edge of an upright box around the line, as a share of the page's width from 0 to 1.
        top: The upper edge, as a share of the page's height.
        right: The right edge.
        bottom: The lower edge.
    """

    start: int
    end: int
    page: int
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Recognition:
    """How long text recognition took for a page.

    Attributes:
        engine: What has read it: `built-in` or `tesseract`.
        seconds: The wall-clock time, without drawing the page.
    """

    engine: str
    seconds: float


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """The parser's output.

    Attributes:
        text: The text that is searched, shown and cited; empty if it is a `long_text`.
        is_markdown: Whether `text` is Markdown.
        headings: The headings, in the order of the text.
        pages: The pages, in the order of the text; empty for formats without pages.
        title: The title that the file itself declares, or empty.
        media_type: The MIME type that the file was read as.
        unread_pages: The numbers of pages without a text layer that were not recognised, because there are too many.
        line_boxes: Where the recognised lines are, in the order of the text; empty if no text was recognised.
        recognitions: What text recognition took for each page and picture that it read.
        long_text: The text of a document of many megabytes; None if it is `text`.
    """

    text: str
    is_markdown: bool = False
    headings: tuple[Heading, ...] = ()
    pages: tuple[Page, ...] = ()
    title: str = ""
    media_type: str = ""
    unread_pages: tuple[int, ...] = ()
    line_boxes: tuple[LineBox, ...] = ()
    recognitions: tuple[Recognition, ...] = ()
    long_text: LongText | None = None

    @property
    def content(self) -> DocumentText:
        """The text, of any length."""
        return self.text if self.long_text is None else self.long_text

    @property
    def page_starts(self) -> list[int]:
        """Where each page starts, that of page 1 first. Empty if there are no pages, or their numbers do not ascend.

        A page without text starts where the next page does. What precedes the first page belongs to it.
        """
        numbers = [page.number for page in self.pages]
        if numbers != sorted(set(numbers)) or (numbers and not 1 <= numbers[-1] <= MAX_PAGE_NUMBER):
            return []
        starts: list[int] = []
        for page in self.pages:
            starts += [page.start if starts else 0] * (page.number - len(starts))
        return starts


@dataclass(frozen=True, slots=True)
class ChunkingOptions:
    """Chunk size and overlap in OpenAI tokens (cl100k_base). `overlap < size`."""

    size: int
    overlap: int


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A chunk that is not stored yet. `text == document_text[start:end]`, with offsets in characters.

    Attributes:
        position: The chunk's index in its document, from 0.
        headings: The headings above the chunk, outermost first.
        tokens: The length of `text` in OpenAI tokens (cl100k_base).
        pages: The pages of the chunk's first and last character; None for formats without pages.
    """

    position: int
    start: int
    end: int
    text: str
    headings: tuple[str, ...]
    tokens: int
    pages: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class IndexOutcome:
    """The outcome of indexing one document.

    Attributes:
        status: What happened: created, updated or unchanged.
        document_id: The id of the document; None if it was deleted in the meantime, so that nothing was written.
        chunk_count: The number of chunks that the document has now.
    """

    status: str
    document_id: uuid.UUID | None
    chunk_count: int
