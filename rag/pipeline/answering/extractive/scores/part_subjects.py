"""What a part of a passage is about: the term that it begins with, the first cell of a table's row, or a code."""

import re
from collections.abc import Sequence

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.parts.tables import cells_by_column, split_cells
from rag.pipeline.answering.extractive.question.question_type import AnalysedQuestion, find_codes, find_short_tokens
from rag.text.quantities.numbers import find_digits
from rag.text.sentences.quotable_units import UnitKind
from rag.text.words import content_words, is_function_word, split_words, stem

from .answer_candidates import QuoteCandidate

# The term is among this many first words: "The _content_ of a document is ..." is not a definition of a document.
_MAX_WORDS_BEFORE_TERM = 1
_MAX_SUBJECT_CHARACTERS, _MAX_ROW_CHARACTERS = 120, 1_000
# "The archive serial number (ASN)", "(short: ASN)": the term may follow what it is short for.
_IN_BRACKETS = re.compile(r"\(([^()]{1,40})\)")
# A code that more parts have does not tell them apart.
_MAX_SHARE_WITH_CODE = 0.25
# A question that names one cell of a row may mean any row that has it: it has to name another one, or its column.
_MIN_ROW_MATCH = 3


def begins_with_term(structures: Sequence[PassageStructure], candidate: QuoteCandidate, term: str) -> bool:
    """Return whether a part begins with a term, after an article at most, or a row with a cell of the term's words.

    The term may also be the short form in brackets of what the part begins with.
    """
    structure = structures[candidate.passage_number - 1]
    lang = structure.passage.lang
    sought = [stem(word, lang) for word in split_words(term, lang)]
    if structure.parts[candidate.index].kind is UnitKind.ROW:  # "What does the status sent mean?"
        cell = split_cells(structure.text(candidate.index)[:_MAX_SUBJECT_CHARACTERS])[0]
        cell_stems = {stem(word, lang) for word in split_words(cell, lang)}
        return bool(cell_stems) and cell_stems <= set(sought)
    beginning = structure.text(candidate.index)[:_MAX_SUBJECT_CHARACTERS]
    first_stems = [stem(word, lang) for word in split_words(beginning, lang)]
    if sought and any(
        [stem(word, lang) for word in split_words(short, lang)][-len(sought) :] == sought
        for short in _IN_BRACKETS.findall(beginning)
    ):
        return True
    return any(first_stems[skip : skip + len(sought)] == sought for skip in range(_MAX_WORDS_BEFORE_TERM + 1)) and bool(
        sought
    )


def names_row(structures: Sequence[PassageStructure], candidate: QuoteCandidate, short_tokens: frozenset[str]) -> bool:
    """Return whether a part is a table's row and the question has all content words of its first cell.

    If that is a number or a range, the words of the first cell with letters are enough: "27-30 | Safari tent".

    Args:
        structures: The structures of the numbered passages.
        candidate: The part.
        short_tokens: The question's single letters and numbers. It must have those of the cell, too: "AquaPur S".
    """
    structure = structures[candidate.passage_number - 1]
    if structure.parts[candidate.index].kind is not UnitKind.ROW:
        return False
    cells = [cell[:_MAX_SUBJECT_CHARACTERS] for cell in cells_by_column(structure.text(candidate.index)).values()]
    names = {cells[0], next((cell for cell in cells if any(map(str.isalpha, cell))), "")}
    lang = structure.passage.lang

    def is_named(cell: str) -> bool:
        subject = {stem(word, lang) for word in content_words(cell, lang)}
        return bool(subject) and subject <= candidate.stems and find_short_tokens(cell) <= short_tokens

    return any(map(is_named, names))


def find_best_named_rows(
    candidates: Sequence[QuoteCandidate], structures: Sequence[PassageStructure], question: AnalysedQuestion
) -> set[tuple[int, int]]:
    """Return the passage numbers and indexes of the rows that the question names best, by two cells at least.

    "Finch | 2.1 | …" is meant by "Who manages Finch 2.1?", and neither "Finch | 2.0 | …" nor "Wren | 2.1 | …". A cell
    of numbers is named if the question has them, as they are. Beside a cell, the name of the column of another one is
    enough: "What is the top speed of the Finch?"
    """
    matches = {
        (candidate.passage_number, candidate.index): _match_cells(structures, candidate, question)
        for candidate in candidates
        if structures[candidate.passage_number - 1].parts[candidate.index].kind is UnitKind.ROW
    }
    best = max(matches.values(), default=0)
    return {part for part, match in matches.items() if match == best} if best >= _MIN_ROW_MATCH else set()


def _match_cells(structures: Sequence[PassageStructure], candidate: QuoteCandidate, question: AnalysedQuestion) -> int:
    """Return twice the number of cells of a row that a question names, plus one if it names the column of another one.

    Each must name something new: "monthly" does not beside "monthly fee".
    """
    structure = structures[candidate.passage_number - 1]
    lang = structure.passage.lang
    cells = cells_by_column(structure.text(candidate.index)[:_MAX_ROW_CHARACTERS])
    headers = structure.header_cells(candidate.index) or ["" if name.isdigit() else name for name in cells]
    stems = frozenset(stem(word, lang) for word in question.words)
    count, used = 0, frozenset[str]()
    for words in sorted((_named_words(cell, lang, stems, question) for cell in cells.values()), key=len, reverse=True):
        count += not words <= used
        used |= words
    columns = (
        _named_words(name, lang, stems, question) for name, cell in zip(headers, cells.values(), strict=False) if cell
    )
    return 2 * count + any(words and words.isdisjoint(used) for words in columns) if count else 0


def _named_words(text: str, lang: str, stems: frozenset[str], question: AnalysedQuestion) -> frozenset[str]:
    """Return the stems, or else the numbers, of a cell if the question has all of them.

    Args:
        text: The cell, or the name of a column.
        lang: The language of the passage.
        stems: The stems of the question's words in this language.
        question: The question.
    """
    if not any(map(str.isalpha, text)):
        numbers = find_digits(text)
        return numbers if numbers <= question.numbers else frozenset()
    words = frozenset(stem(word, lang) for word in split_words(text, lang) if not is_function_word(word, lang))
    return words if words <= stems and find_short_tokens(text) <= question.short_tokens else frozenset()


def find_rarest_code(
    candidates: Sequence[QuoteCandidate], structures: Sequence[PassageStructure], codes: Sequence[str]
) -> set[tuple[int, int]]:
    """Return the passage numbers and indexes of the parts with the question's rarest code; none if many parts have it.

    Of these only those with most of its other codes are returned: the E03 of the controller C1, not that of the C2. A
    part also has the codes of the headings above it. Codes differ in a sign ("E-12", "E-31") that similarities hardly
    see, and consist of words that other parts have.
    """
    parts_by_code: dict[str, set[tuple[int, int]]] = {code: set() for code in codes}
    for candidate in candidates if codes else ():
        structure = structures[candidate.passage_number - 1]
        heading = structure.heading_index(candidate.index)
        above = [structure.passage.title, *structure.passage.headings]
        inner = "" if heading is None else structure.visible_text(heading)
        for code in find_codes("\n".join([*above, inner, structure.text(candidate.index)])):
            if code in parts_by_code:
                parts_by_code[code].add((candidate.passage_number, candidate.index))
    rarest = min((parts for parts in parts_by_code.values() if parts), key=len, default=set())
    if len(rarest) > max(1.0, _MAX_SHARE_WITH_CODE * len(candidates)):
        return set()
    counts = {part: sum(part in parts for parts in parts_by_code.values()) for part in rarest}
    return {part for part, count in counts.items() if count == max(counts.values())}
