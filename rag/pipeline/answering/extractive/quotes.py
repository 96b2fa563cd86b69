"""A quote of an extractive answer: what is quoted, where it is, and its text."""

from dataclasses import dataclass

from rag.types import Citation


@dataclass(frozen=True, slots=True)
class Quote:
    """A quote from a passage.

    Attributes:
        number: The passage's number in the prompt, from 1.
        citations: The quoted characters and where they are, one for each sentence, item, row or code block.
        text: The quote as people read it: wrapped lines joined, cells of a row after the names of their columns.
        is_block: Whether the text is on lines of its own.
        continues: Whether the next quote belongs to this one, so that one citation is enough for both.
        is_in_section: Whether a heading, other than the document's title, is above the quote.
        heading: The nearest heading above the quote within its passage; empty if there is none.
        introduction: The question or heading above the quote, if that says too little without it; mostly empty.
    """

    number: int
    citations: tuple[Citation, ...]
    text: str
    is_block: bool
    continues: bool
    is_in_section: bool
    heading: str = ""
    introduction: str = ""


def nearest_heading(quote: Quote) -> str:
    """Return the nearest heading above a quote, without marks; empty if there is none."""
    headings = quote.citations[0].passage.headings
    return (quote.heading or (headings[-1] if headings else "")).strip("#=* ")
