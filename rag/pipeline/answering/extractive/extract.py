"""Step: question and passages -> an answer without a language model, quoted from the best parts of the passages."""

from collections.abc import Sequence

from rag.text.markup.titles.faq_questions import QUESTION_ENDINGS
from rag.types import Passage

from .parts.needed_parts import PassageStructure
from .question.question_type import AnalysedQuestion, analyse_question
from .quote_parts import quote_parts
from .quotes import Quote
from .scores.multilingual_similarity import compare_in_other_languages
from .scores.sentence_similarity import MAX_PASSAGES, SentenceSimilarity, compare_token_signatures
from .selection.named_rows import leave_out_other_rows
from .selection.select_parts import Selection, select_parts

EXTRACTIVE_MODEL = "extractive"


def extract_quotes(
    query: str, passages: Sequence[Passage], similarity: SentenceSimilarity | None = None
) -> list[Quote]:
    """Quote the parts of the passages that answer the question best.

    Args:
        query: The question.
        passages: The numbered passages of the prompt, best first. Only the best ones are quoted.
        similarity: The similarity of the passages' parts to the question; without it, words alone decide.

    Returns:
        Quotes, the best one first and the others in reading order. Each can be understood without its passage.
    """
    structures, selection, quotes = _select(query, passages, similarity or SentenceSimilarity())
    if selection.best is None:
        return quotes
    number, index = selection.best
    structure = structures[number - 1]
    return _put_first(quotes, number, structure.passage.start + structure.parts[index].start)


def quote_section(query: str, passages: Sequence[Passage], similarity: SentenceSimilarity) -> list[Quote]:
    """Quote the section that answers the question; nothing if it is doubtful which one does.

    A section answers it whose heading matches the question, or whose heading is a question in the best passage.

    Args:
        query: The question.
        passages: The numbered passages of the prompt, best first. Only the best ones are quoted.
        similarity: The similarity of the passages' parts to the question.
    """
    structures, selection, quotes = _select(query, passages, similarity)
    if selection.best is None:
        return quotes
    number, index = selection.best
    heading = structures[number - 1].heading_index(index)
    headings = passages[0].headings if heading is None else (structures[number - 1].visible_text(heading),)
    is_question = bool(headings) and headings[-1].rstrip(" #=*_").endswith(QUESTION_ENDINGS)
    return quotes if number == 1 and is_question else []


def _select(
    query: str, passages: Sequence[Passage], similarity: SentenceSimilarity
) -> tuple[list[PassageStructure], Selection, list[Quote]]:
    """Return the structures of the best passages, what is selected of them, and its quotes in reading order."""
    question = analyse_question(query, [passage.lang for passage in passages[:MAX_PASSAGES]])
    structures = [
        PassageStructure(passage, quotes_mail_headers=question.asks_about_mail) for passage in passages[:MAX_PASSAGES]
    ]
    selection = leave_out_other_rows(select_parts(structures, question, similarity), structures, query)
    quotes = [
        quote
        for number, structure in enumerate(structures, start=1)
        for quote in quote_parts(
            number,
            structure,
            _without_yes(structure, selection, number, question),
            question.words,
            question.answer_type,
        )
    ]
    return structures, selection, quotes


def _without_yes(
    structure: PassageStructure, selection: Selection, number: int, question: AnalysedQuestion
) -> set[int]:
    """Return the selected parts of a passage without a "Yes." before them that the question did not ask for."""
    parts = selection.parts.get(number, set())
    kept = {index for index in parts if not question.needs_more_than(structure.text(index))}
    loses_best = any((number, index) == selection.best for index in parts - kept)
    return kept if kept and not loses_best else parts


def compare_sentences(query: str, passages: Sequence[Passage], chunks: Sequence[Passage]) -> SentenceSimilarity:
    """Compare the question with the parts of the best passages: by token signatures, or between languages by vectors.

    Args:
        query: The question.
        passages: The passages, best first. Each is one chunk or several merged ones.
        chunks: The chunks that the passages consist of.
    """
    between_languages = compare_in_other_languages(query, passages[:MAX_PASSAGES])
    return between_languages or compare_token_signatures(query, passages, chunks)


def _put_first(quotes: Sequence[Quote], number: int, start: int) -> list[Quote]:
    """Put the quote that has the best part first, with the quotes that belong to it: readers begin there.

    Args:
        quotes: The quotes in reading order.
        number: The number of the best part's passage.
        start: The offset of the best part in its document.
    """
    best = next(
        position
        for position, quote in enumerate(quotes)
        if quote.number == number and any(citation.start == start for citation in quote.citations)
    )
    first, end = best, best + 1
    while first and quotes[first - 1].continues:
        first -= 1
    while quotes[end - 1].continues:
        end += 1
    return [*quotes[first:end], *quotes[:first], *quotes[end:]]
