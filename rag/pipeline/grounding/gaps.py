"""Step: what a question asks for that no passage has, in the asker's own words."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.text.entities import find_names, find_numbers, normalized_numbers
from rag.text.words import content_words, is_unspaced, split_words, stem, stems_among
from rag.types import Passage

# Words that stand beside each other with at most this between them are one phrase.
_BETWEEN = re.compile(r"[ \-/&]?\Z")
_RUN = re.compile(r"\w+(?:[.,:/’'-]\w+)*")


@dataclass(frozen=True, slots=True)
class QueryPart:
    """A word of a question that asks for something: `wanted` are its stems by a language's rules.

    is_name: a name, an identifier or a number, for which no other word will do.
    """

    text: str
    start: int
    end: int
    is_name: bool
    split_words: tuple[str, ...]


def extract_query_parts(query: str, lang: str) -> list[QueryPart]:
    """In the question's order, each once."""
    named = {each.start for each in (*find_names(query), *find_numbers(query))}
    asked = set(content_words(query, lang))
    found: dict[str, QueryPart] = {}
    for match in _RUN.finditer(query):
        own = tuple(word for word in split_words(match.group(), lang) if word in asked or match.group()[0].isdigit())
        if own:
            part = QueryPart(match.group(), match.start(), match.end(), match.start() in named, own)
            found.setdefault(part.text.lower(), part)
    return list(found.values())


def find_covered_parts(asked: Sequence[QueryPart], passage: Passage) -> frozenset[QueryPart]:
    """Those of the parts that the passage has, by the rules of its own language; a number also if written otherwise."""
    stems = {word: stem(word, passage.lang) for part in asked for word in part.words}
    found = stems_among(passage.text_with_headings, stems.values(), passage.lang)
    known = normalized_numbers(passage.text_with_headings) if any(part.text[0].isdigit() for part in asked) else set()
    return frozenset(
        part
        for part in asked
        if sum(stems[word] in found for word in part.words) >= _needed(part)
        or (part.text[0].isdigit() and normalized_numbers(part.text) <= known)
    )


def _needed(part: QueryPart) -> float:
    """Of a part's words. Pairs of letters that stand in for words are in no passage all of them."""
    return len(part.words) / 2 if is_unspaced(part.text) else len(part.words)


def find_gaps(query: str, asked: Sequence[QueryPart], holdings: Sequence[frozenset[QueryPart]]) -> tuple[str, ...]:
    """The parts that none of the passages has, and neighbours among them as one phrase. holdings: what each has.

    A name of several words is one thing: where no passage has all of it, all of it is missing.
    """
    covered = frozenset().union(*holdings)
    missing = {part for part in asked if part not in covered}
    for phrase in _phrases(query, [part for part in asked if part.is_name]):
        if len(phrase) > 1 and not any(each.issuperset(phrase) for each in holdings):
            missing |= set(phrase)
    remaining = [part for part in asked if part in missing]
    return tuple(query[run[0].start : run[-1].end] for run in _phrases(query, remaining))


def _phrases(query: str, chosen: Sequence[QueryPart]) -> list[list[QueryPart]]:
    """Runs of neighbours. A name and what is none are not one thing."""
    found: list[list[QueryPart]] = []
    for part in chosen:
        last = found[-1][-1] if found else None
        if last and last.is_name == part.is_name and _BETWEEN.match(query[last.end : part.start]):
            found[-1].append(part)
        else:
            found.append([part])
    return found
