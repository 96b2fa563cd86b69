"""Answers to two questions in one, quoted one after the other."""

import dataclasses
from collections.abc import Callable, Sequence

from rag.text.words import content_words, split_words, stem, stems_among
from rag.types import Passage, SearchedQuestion

from .extract import compare_sentences, extract_quotes, quote_section
from .quotes import Quote
from .scores.sentence_similarity import SentenceSimilarity


def quote_answer(
    query: str, passages: Sequence[Passage], chunks: Sequence[Passage], searched: Sequence[SearchedQuestion] = ()
) -> list[Quote]:
    """Quote what answers a question, or the two questions that it consists of.

    Args:
        query: The question.
        passages: The numbered passages of the prompt, best first. Only the best ones are quoted.
        chunks: The chunks that the passages consist of.
        searched: The question and the two that it consists of, if the passages answer both. Only the first of them if
            it says what the second one is about. Or only the clause that was searched for in place of the question.

    Returns:
        Quotes, as `extract_quotes` returns them: of two sections, if one answers each of the two questions, and none
        is about both. In a text without sections the same sentences often answer both.
    """
    whole, *halves = searched or [SearchedQuestion(query, tuple(chunks))]
    quotes = _quote(extract_quotes, whole, passages, chunks)
    if len(halves) < 2:
        return quotes
    first, second = (_quote(quote_section, half, passages, chunks) for half in halves)
    is_divided = first and second and _starts(first).isdisjoint(_starts(second))
    return [*first, *second] if is_divided and not _are_about_both(quotes, query) else quotes


def _starts(quotes: Sequence[Quote]) -> set[tuple[int, int]]:
    """Return where the quotes begin: the numbers of their passages, and the offsets in the documents."""
    return {(citation.number, citation.start) for quote in quotes for citation in quote.citations}


def _quote(
    quote: Callable[[str, Sequence[Passage], SentenceSimilarity], list[Quote]],
    question: SearchedQuestion,
    passages: Sequence[Passage],
    chunks: Sequence[Passage],
) -> list[Quote]:
    """Quote from the passages in the order in which the search for the question found them."""
    order = _sort_passages(passages, question.passages)
    best = [passages[index] for index in order]
    return _renumber(quote(question.text, best, compare_sentences(question.text, best, chunks)), order)


def _sort_passages(passages: Sequence[Passage], ranked: Sequence[Passage]) -> list[int]:
    """Return the indexes of the passages in the order in which a search found the first chunk of each."""

    def rank(index: int) -> int:
        passage = passages[index]
        parts = (
            rank
            for rank, chunk in enumerate(ranked)
            if chunk.document_id == passage.document_id and passage.start <= chunk.start < passage.end
        )
        return next(parts, len(ranked))

    return sorted(range(len(passages)), key=rank)


def _renumber(quotes: Sequence[Quote], order: Sequence[int]) -> list[Quote]:
    """Give quotes the numbers that their passages have in the prompt."""
    if order == sorted(order):
        return list(quotes)
    return [
        dataclasses.replace(
            quote,
            number=order[quote.number - 1] + 1,
            citations=tuple(
                dataclasses.replace(citation, number=order[citation.number - 1] + 1) for citation in quote.citations
            ),
        )
        for quote in quotes
    ]


def _are_about_both(quotes: Sequence[Quote], query: str) -> bool:
    """Return whether a heading right above the quotes has all content words of the question, and "and".

    "How do I restore a backup?" has all content words of "How do I make a backup and how do I restore it?".
    """
    words = {stem(word) for word in content_words(query)}
    headings = {quote.heading or next(iter(quote.citations[0].passage.headings[-1:]), "") for quote in quotes}
    return any("and" in split_words(heading) and len(stems_among(heading, words)) == len(words) for heading in headings)
