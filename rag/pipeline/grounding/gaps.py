"""Step: question and passages -> the parts of the question that no passage mentions."""

import functools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from rag.pipeline.retrieval.query.split_clauses import asking_clauses
from rag.text.languages import snowball_algorithm
from rag.text.names import find_names, find_tokens
from rag.text.quantities.numbers import find_numbers, normalized_numbers
from rag.text.question_language import foreign_function_words, is_english, is_foreign, name_language
from rag.text.words import content_words, is_unspaced, match_stems, split_words, stem, stems, stems_among
from rag.types import Citation, Passage

from .question_words import is_general_word, is_question_word

# Parts with nothing but this between them are neighbours and form one phrase.
_SEPARATOR = re.compile(r"[ \-/&]?\Z")
# What separates the things that one question asks for.
_CLAUSE_END = re.compile(r"[,;:?!]\s|\b(?:and|or|und|oder|sowie|et|ou|y)\b|(?<= )e(?= )")
# "E-12", "KD-6002" and "HX500", but not "m2" and "MP3": the letters and the digits.
_CODE = re.compile(r"(?<![\w-])([a-z]+)(?=[-_]|\d\d)[-_]?(\d+)")
# "N2" is one if the question says what it is: "the N2 night bus", "room B2".
_SHORT_CODE = re.compile(r"(?<![\w-])([a-z])(\d)(?![\w-])")
_SERIES = (
    "bus|line|route|tram|train|gate|platform|room|hall|error|buslinie|linie|zug|gleis|raum|saal|fehler|ligne|salle"
    "|erreur|línea|sala|linea|binario|errore|linha|erro|lijn|spoor|zaal|lokaal"
)
_NAMED_SHORT_CODE = re.compile(rf"\b(?:{_SERIES}) ([a-z])(\d)(?![\w-])|(?<![\w-])([a-z])(\d) (?:\w+ )?(?:{_SERIES})\b")
_KATAKANA = re.compile(r"[\u30a1-\u30fe\uff66-\uff9f]{2,}")


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A content word, name or number of a question.

    Attributes:
        text: The part as it is written in the question.
        start: Character offset of the part in the question.
        end: Character offset of the part's end in the question, exclusive.
        is_name: Whether it is a name, an identifier or a number, which has no synonyms.
        words: The words of the part (rag.text.words.split_words).
    """

    text: str
    start: int
    end: int
    is_name: bool
    words: tuple[str, ...]


@functools.lru_cache(maxsize=64)  # each question is examined about four times
def extract_query_parts(query: str, lang: str) -> tuple[QueryPart, ...]:
    """Return the content words, names and numbers of a question, in order and without repetitions.

    Args:
        query: The question.
        lang: The question's language, as documents declare it; empty for English.
    """
    name_starts = {mention.start for mention in (*find_names(query), *find_numbers(query))}
    # A question may be in a language other than the passages'.
    content = set(content_words(query, lang)) - foreign_function_words(query)
    parts: dict[str, QueryPart] = {}
    for mention in find_tokens(query):
        token = mention.text
        words = tuple(word for word in split_words(token, lang) if word in content or token[0].isdigit())
        if words:
            part = QueryPart(token, mention.start, mention.end, mention.start in name_starts, words)
            parts.setdefault(part.text.lower(), part)
    return tuple(parts.values())


def find_covered_parts(parts: Sequence[QueryPart], passage: Passage) -> frozenset[QueryPart]:
    """Return the parts that a passage mentions.

    Words are compared by their stems in the passage's language, numbers by their value.
    """
    text = passage.text_with_headings
    word_stems = {word: stem(word, passage.lang) for part in parts for word in part.words}
    passage_stems = match_stems(word_stems.values(), _stems_in(text, passage.lang), passage.lang)
    numbers = normalized_numbers(text, passage.lang) if any(part.text[0].isdigit() for part in parts) else set()
    return frozenset(
        part
        for part in parts
        if sum(word_stems[word] in passage_stems for word in part.words) >= _min_words(part)
        or (part.text[0].isdigit() and normalized_numbers(part.text) <= numbers)
    )


@functools.lru_cache(maxsize=256)  # some passages are found for many questions
def _stems_in(text: str, lang: str) -> frozenset[str]:
    return frozenset(stems(text, lang))


def _min_words(part: QueryPart) -> float:
    """Return how many words of a part a passage must contain: all; in a script without spaces half of the bigrams.

    Some of these bigrams span two words.
    """
    return len(part.words) / 2 if is_unspaced(part.text) else len(part.words)


def find_gaps(query: str, parts: Sequence[QueryPart], covered_parts: Sequence[frozenset[QueryPart]]) -> tuple[str, ...]:
    """Return the parts that no passage mentions, with neighbours joined to phrases.

    A name of several words is one unit: if no single passage mentions all of them, the whole name is a gap. Of texts
    without spaces, which may be whole clauses, only Katakana are known to be words.

    Args:
        query: The question.
        parts: The parts of the question (`extract_query_parts`).
        covered_parts: The parts that each passage mentions (`find_covered_parts`).

    Returns:
        Phrases as they are written in the question.
    """
    covered_by_any: frozenset[QueryPart] = frozenset().union(*covered_parts)
    missing = {part for part in parts if part not in covered_by_any and is_sought(part, query) and _is_word(part)}
    for phrase in _join_neighbours(query, [part for part in parts if part.is_name]):
        if len(phrase) > 1 and not any(covered.issuperset(phrase) for covered in covered_parts):
            missing |= set(phrase)
    gaps = _join_neighbours(query, [part for part in parts if part in missing])
    return tuple(query[phrase[0].start : phrase[-1].end] for phrase in gaps)


def _is_word(part: QueryPart) -> bool:
    return not is_unspaced(part.text) or bool(_KATAKANA.fullmatch(part.text))


def asks_about_other_code(query: str, passages: Sequence[Passage]) -> bool:
    """Return whether a question asks about a code, such as "E-12", and passages only have others of its series.

    What they say about those is no answer. A series has two codes or more: a single one may be a limit or a version. A
    code in a clause that does not ask may only describe the occasion. "E-12", "E12" and "e 12" are the same code.
    """
    clauses = [clause.lower() for clause in asking_clauses(query)]
    codes = {code for clause in clauses for code in _CODE.findall(clause)}
    short_codes = {
        match[:2] if match[0] else match[2:] for text in clauses for match in _NAMED_SHORT_CODE.findall(text)
    }
    if not codes | short_codes:
        return False
    texts = [passage.text_with_headings.lower() for passage in passages]
    passage_codes = {code for text in texts for code in _CODE.findall(text)}
    if short_codes:
        codes |= short_codes
        passage_codes |= {code for text in texts for code in _SHORT_CODE.findall(text)}
    series = {letters for letters, count in Counter(letters for letters, _ in passage_codes).items() if count > 1}
    return any(letters in series for letters, _ in codes) and not any(
        _has_code(text, *code) for code in codes for text in texts
    )


def _has_code(text: str, letters: str, digits: str) -> bool:
    """Return whether a text has a code, or a range that may contain it ("B10 to B19")."""
    number = digits.lstrip("0") or "0"
    return bool(
        re.search(rf"(?<![^\W_]){letters}[\W_]{{0,3}}0*{number}(?!\d)", text)
        or re.search(
            rf"(?<![^\W_]){letters}[-_]?\d+ ?(?:to|up to|through|–|-|\.{{2,3}}|…|bis|à|a|tot|até"
            rf"|al) ?(?:{letters})?[-_]?\d",
            text,
        )
    )


def count_question_words(query: str) -> int:
    """Return how many different words of a question, or names of several words, a quote should have."""
    return len(_sought_parts(query, ""))


def _sought_parts(query: str, lang: str) -> list[QueryPart]:
    return [part for part in extract_query_parts(query, lang) if not is_question_word(part.text, query)]


def share_in_quotes(query: str, citations: Sequence[Citation], headings: Sequence[str] = ()) -> float:
    """Return the share of a question's words that quotes and the headings above them have, 0…1.

    Args:
        query: The question. Question words do not count.
        citations: The quotes.
        headings: The headings right above the quotes.

    Returns:
        1 if question and quotes may be in different languages, because then they share no words.
    """
    langs = {citation.passage.lang for citation in citations}
    lang = "" if is_english(query) else next(iter(langs), "")
    if is_english(query):
        is_same_language = not any(map(is_foreign, langs))
    else:
        is_same_language = langs == {lang} and snowball_algorithm(lang) == name_language(query) != ""
    if not is_same_language:
        return 1.0
    sought = {stem(word, lang) for part in _sought_parts(query, lang) for word in part.words}
    passages = {id(citation.passage): citation.passage for citation in citations}.values()
    above = [text for passage in passages for text in (passage.title, *passage.headings)]
    inner = [
        line
        for citation in citations
        for line in citation.passage.text[: citation.start - citation.passage.start].splitlines()
        if line.startswith("#")
    ]
    quoted = "\n".join([*(citation.quote for citation in citations), *above, *inner, *headings])
    return len(stems_among(quoted, sought, lang)) / len(sought) if sought else 1.0


def select_reportable_gaps(query: str, gaps: Sequence[str]) -> tuple[str, ...]:
    """Return the gaps to report below an answer: names, numbers, and the words of clauses that no passage covers.

    Other words may have a synonym in the answer: "14 days ahead" answers "How far in advance?".
    """
    names = {mention.text for mention in (*find_names(query), *find_numbers(query))}
    gap_words = set(content_words(" ".join(gaps)))
    clauses = [set(content_words(clause)) for clause in _CLAUSE_END.split(query)]
    words_of_uncovered_clauses = set().union(*(clause for clause in clauses if clause <= gap_words))
    return tuple(
        gap
        for gap in gaps
        if any(token.text in names for token in find_tokens(gap))
        or set(content_words(gap)) & words_of_uncovered_clauses
    )


def is_sought(part: QueryPart, query: str) -> bool:
    """Return whether an answer should have a part of the question, and not only something for it."""
    return not (is_question_word(part.text, query) or is_general_word(part.text))


def _join_neighbours(query: str, parts: Sequence[QueryPart]) -> list[list[QueryPart]]:
    """Return phrases of parts that follow each other in the question. A name and another word are never one phrase."""
    phrases: list[list[QueryPart]] = []
    for part in parts:
        previous = phrases[-1][-1] if phrases else None
        if previous and previous.is_name == part.is_name and _SEPARATOR.match(query[previous.end : part.start]):
            phrases[-1].append(part)
        else:
            phrases.append([part])
    return phrases
