"""The list of cited passages below an answer: the order of the passages, and the quotes of each of them joined."""

import dataclasses
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext

from rag.services.queries.history.stored_answers import CitedPassage

from .document_text import show_quote

# Between two sentences or paragraphs, in characters.
_MAX_WHITE_SPACE = 2


@dataclass(frozen=True, slots=True)
class Reference:
    """A cited passage in the list below the answer."""

    citation: CitedPassage
    url: str
    pages: str


def list_cited_passages(citations: Sequence[CitedPassage]) -> Iterator[Reference]:
    """Yield one reference for each number and passage, in the order in which the answer cites them first."""
    groups: dict[tuple[int, uuid.UUID], list[CitedPassage]] = {}
    for citation in citations:
        groups.setdefault((citation.number, citation.chunk_id), []).append(citation)
    for quotes in groups.values():
        quotes.sort(key=lambda quote: quote.start)
        pages = [page for quote in quotes for page in (quote.first_page, quote.last_page) if page]
        joined = dataclasses.replace(
            quotes[0],
            quote=_join_quotes(quotes),
            end=max(quote.end for quote in quotes),
        )
        label = page_label(min(pages), max(pages)) if pages else ""
        yield Reference(joined, _document_url(joined), label)


def _document_url(citation: CitedPassage) -> str:
    """Return the address of the cited passage in its document; empty if it does not exist any more."""
    if citation.document_id is None:
        return ""
    query = urlencode({"chunk": str(citation.chunk_id), "start": citation.start, "end": citation.end})
    return f"{reverse('document', args=[citation.document_id])}?{query}#passage"


def page_label(first: int | None, last: int | None) -> str:
    """Return "page 3" or "pages 3–4"; empty for formats without pages."""
    if not first:
        return ""
    if last and last != first:
        return gettext("pages {first}–{last}").format(first=first, last=last)
    return gettext("page {number}").format(number=first)


def _join_quotes(citations: Sequence[CitedPassage]) -> str:
    """Join quotes from a passage in the order of the text, with an ellipsis where something is left out between."""
    text, end = "", citations[0].start
    for citation in citations:
        if citation.end > end:
            gap = " … " if citation.start > end + _MAX_WHITE_SPACE else " "
            text += (gap if text else "") + show_quote(citation.quote)
            end = citation.end
    return text
