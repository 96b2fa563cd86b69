"""Step: what a language model wrote → the same with the citations that hold, each with the passage's own words."""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.text.units import TextUnit, UnitKind, split_units
from rag.text.words import content_words, query_language, stem, stems
from rag.types import Citation, Passage

# Of a statement's words, how many the passages that it cites must have together, and each of them.
_SUPPORTED, _TAKES_PART = 0.5, 0.2
_LIST = r"\d{1,4}(?:\s?[,;–-]\s?\d{1,4}){0,20}"
# [1], [1][2], [1, 2], [1–3], 【1】; not in code.
_MARKS = re.compile(
    rf"```.*?```|`[^`\n]*`|(?P<marks>[\[【]{_LIST}[\]】](?:[ ,;]{{0,3}}[\[【]{_LIST}[\]】])*)", re.DOTALL
)
_ITEM = re.compile(r"(\d{1,4})(?:\s?[–-]\s?(\d{1,4}))?")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"[^\W_]")
_MOST_IN_A_RANGE = 20
# What ends a sentence behind its marks; what begins an item of a list.
_END = re.compile(r"\A[ \t]*[.!?。！？]+")
_ITEM_MARK = re.compile(r"(?:\A|(?<=\n))[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]*\Z")


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """text: the answer without the numbers that were dropped, and without the unsupported sentences. dropped: how many
    numbers those are: of no passage, or of one that does not have what is said. unsupported: the sentences that lost
    all their numbers for that reason."""

    text: str
    citations: tuple[Citation, ...]
    dropped: int
    unsupported_sentences: tuple[str, ...]


def extract_citations(answer: str, passages: Sequence[Passage]) -> CitedAnswer:
    """passages: the n-th is cited as [n]. A citation for each statement and passage, in the order of the answer."""
    lang = query_language(answer, [passage.lang for passage in passages])
    known = [_Known(number, passage) for number, passage in enumerate(passages, start=1)]
    kept: dict[tuple[int, int, int], Citation] = {}
    checked: dict[tuple[str, tuple[int, ...]], list[_Known]] = {}
    text, dropped, unsupported, is_cut = "", 0, [], False
    for said, between, marks in _statements(answer, lang):
        if is_cut:
            between = _END.sub("", between)
        numbers = _numbers(marks)
        named = [known[number - 1] for number in numbers if 1 <= number <= len(known)]
        statement = said, tuple(each.number for each in named)
        if statement not in checked:
            checked[statement] = _holding(said, named, lang)
        holding = checked[statement]
        dropped += len(numbers) - len(holding)
        is_cut = bool(named) and not holding and between.rstrip().endswith(said)
        if named and not holding:
            unsupported.append(said)
        text += _ITEM_MARK.sub("", between.rstrip()[: -len(said)]) if is_cut else between
        for each in holding:
            citation = each.citation(said, lang)
            kept.setdefault((citation.number, citation.start, citation.end), citation)
        if len(holding) == len(numbers):
            text += marks
        elif holding:
            text += "".join(f"[{each.number}]" for each in holding)
        elif marks:
            text = text.rstrip(" ")
    return CitedAnswer(text.strip(), tuple(kept.values()), dropped, tuple(unsupported))


def _statements(answer: str, lang: str) -> Iterator[tuple[str, str, str]]:
    """What is said, all text since the marks before, and the marks behind it; at last the rest, without marks."""
    end, said = 0, ""
    for found in _MARKS.finditer(answer):
        if not found["marks"]:
            continue
        between = answer[end : found.start()]
        said = _said(between, lang) or said or _said(answer[found.end() : found.end() + 500], lang, first=True)
        yield said, between, found["marks"]
        end = found.end()
    yield "", answer[end:], ""


def _said(text: str, lang: str, *, first: bool = False) -> str:
    """Its last sentence, or its first; empty if it has no word."""
    if not _WORD.search(text):
        return ""
    found = [text[each.start : each.end] for each in split_units(text, lang) if each.kind is not UnitKind.RULE]
    found = [each for each in found if _WORD.search(each)]
    return (found[0] if first else found[-1]) if found else ""


def _numbers(marks: str) -> list[int]:
    """Each once, in order."""
    found: list[int] = []
    for first, last in _ITEM.findall(marks):
        begin, end = int(first), int(last or first)
        found += range(begin, min(end, begin + _MOST_IN_A_RANGE) + 1) if end >= begin else [begin]
    return list(dict.fromkeys(found))


class _Known:
    """A passage's words, looked at once for all statements."""

    def __init__(self, number: int, passage: Passage) -> None:
        self.number = number
        self._passage = passage
        self._chosen: dict[str, Citation] = {}

    @functools.cached_property
    def numbers(self) -> frozenset[str]:
        return _plain_numbers(self._passage.text_with_headings)

    def having(self, words: Sequence[str]) -> frozenset[str]:
        """Those of the words that it has."""
        return frozenset(word for word in words if stem(word, self._passage.lang) in self._stems)

    def citation(self, said: str, lang: str) -> Citation:
        """With the piece of the passage that has most of what is said."""
        if said not in self._chosen:
            passage = self._passage
            wanted = {stem(word, passage.lang) for word in content_words(said, lang)} | _plain_numbers(said)
            piece = max(self._pieces, key=lambda each: (len(wanted & each[1]), -each[0].start))[0]
            start, end = passage.start + piece.start, passage.start + piece.end
            self._chosen[said] = Citation(self.number, passage, passage.text[piece.start : piece.end], start, end)
        return self._chosen[said]

    @functools.cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(stems(self._passage.text_with_headings, self._passage.lang))

    @functools.cached_property
    def _pieces(self) -> list[tuple[TextUnit, frozenset[str]]]:
        """Each with its stems and numbers."""
        text, lang = self._passage.text, self._passage.lang
        found = [each for each in split_units(text, lang) if each.kind is not UnitKind.RULE]
        found = found or [TextUnit(UnitKind.SENTENCE, 0, len(text), 0)]
        return [(each, self._known(text[each.start : each.end])) for each in found]

    def _known(self, text: str) -> frozenset[str]:
        return frozenset(stems(text, self._passage.lang)) | _plain_numbers(text)


def _holding(said: str, named: Sequence[_Known], lang: str) -> list[_Known]:
    """Those of the named passages that what is said rests on: none, unless they have it together, numbers included."""
    words = [word for word in content_words(said, lang) if not word.isdigit()]
    shares = [each.having(words) for each in named]
    together = frozenset[str]().union(*shares)
    if not named or len(together) < _SUPPORTED * len(words):
        return []
    if not _plain_numbers(said) <= frozenset[str]().union(*(each.numbers for each in named)):
        return []
    return [each for each, own in zip(named, shares, strict=True) if len(own) >= _TAKES_PART * len(words)]


def _plain_numbers(text: str) -> frozenset[str]:
    """As digits alone: 5,000 and 5000 are one."""
    return frozenset("".join(filter(str.isdigit, each)) for each in _NUMBER.findall(text))
