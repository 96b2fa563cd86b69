"""Step: generated answer -> the answer with verified citations, each with a quote from its passage."""

import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rag.text import citation_markers
from rag.text.markup.pictures import disable_in_answer
from rag.text.question_language import query_language
from rag.text.sentences.quotable_units import TextUnit, UnitKind, split_units
from rag.text.words import content_words, stem, stems
from rag.types import Citation, Passage

# Minimum share of a sentence's words in all of its cited passages together, and in each of them.
_MIN_TOGETHER = 0.5
_MIN_EACH = 0.2
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_WORD = re.compile(r"[^\W_]")
# Markers before the first word belong to the first sentence after them. This much text is searched for it.
_LOOKAHEAD_CHARACTERS = 500
# The end of a sentence after its markers, and the start of a list item.
_SENTENCE_END = re.compile(r"\A[ \t]*[.!?؟。！？]+")
_END_MARKS = re.compile(r"[.!?؟。！？]")
_ITEM_START = re.compile(r"(?:\A|(?<=\n))[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]*\Z")


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """An answer whose citations have been verified.

    Attributes:
        text: The answer without the dropped citations and the unsupported sentences.
        citations: The citations, one for each sentence and passage, in the order of the answer.
        dropped: How many citations were dropped: no passage has that number, or the passage does not support the
            sentence.
        unsupported_sentences: The sentences whose cited passages all fail to support them. They are removed from `text`
            if their citations follow them. A sentence that one of its citations supports is not among them. After the
            validation, also those without a citation that `remove_unsupported_end` has removed.
    """

    text: str
    citations: tuple[Citation, ...]
    dropped: int
    unsupported_sentences: tuple[str, ...]


def extract_citations(answer: str, passages: Sequence[Passage]) -> CitedAnswer:
    """Verify the citations of a generated answer and quote the passages.

    Args:
        answer: The text of the language model, with citations such as [1] or [2, 3].
        passages: The numbered passages of the prompt; the first one is cited as [1].
    """
    lang = query_language(answer, [passage.lang for passage in passages])
    cited_passages = [_CitedPassage(number, passage) for number, passage in enumerate(passages, start=1)]
    citations: dict[tuple[int, int, int], Citation] = {}
    cache: dict[tuple[str, tuple[int, ...]], list[_CitedPassage]] = {}
    text, dropped, unsupported, is_removed = "", 0, [], False
    kept: set[str] = set()
    for sentence, preceding, markers in _split_cited_sentences(answer, lang):
        if is_removed:  # the removed sentence's full stop may follow its markers
            preceding = _SENTENCE_END.sub("", preceding)
        numbers = citation_markers.parse_numbers(markers)
        cited = [cited_passages[number - 1] for number in numbers if 1 <= number <= len(cited_passages)]
        key = sentence, tuple(passage.number for passage in cited)
        if key not in cache:
            cache[key] = _find_supporting(sentence, cited, lang)
        supporting = cache[key]
        dropped += len(numbers) - len(supporting)
        is_removed = bool(cited) and not supporting and preceding.rstrip().endswith(sentence)
        if cited and not supporting:
            unsupported.append(sentence)
        text += _ITEM_START.sub("", preceding.rstrip()[: -len(sentence)]) if is_removed else preceding
        for passage in supporting:
            citation = passage.cite(sentence, lang)
            citations.setdefault((citation.number, citation.start, citation.end), citation)
            kept.add(_without_markers(sentence))
        if len(supporting) == len(numbers):
            text += markers
        elif markers and not is_removed:
            text = text if supporting else text.rstrip(" ")
            text += "".join(citation_markers.format_marker(passage.number) for passage in supporting)
            text += "".join(_END_MARKS.findall(markers))  # between the markers
        elif markers:
            text = text.rstrip(" ")
    # A sentence stays if another marker before or after it names a passage that supports it.
    unsupported = [sentence for sentence in unsupported if _without_markers(sentence) not in kept]
    # A dropped marker may have been all that stood between the first characters of a picture.
    return CitedAnswer(disable_in_answer(text.strip()), tuple(citations.values()), dropped, tuple(unsupported))


def _without_markers(sentence: str) -> str:
    return citation_markers.remove_markers(sentence).strip(" .!?؟。！？")


def _split_cited_sentences(answer: str, lang: str) -> Iterator[tuple[str, str, str]]:
    """Yield (sentence, text since the previous markers, markers after it), and at last the rest, without markers.

    Markers with no word between them belong to the same sentence.
    """
    previous_end, sentence = 0, ""
    for start, end in _group_markers(answer):
        preceding, following = answer[previous_end:start], answer[end : end + _LOOKAHEAD_CHARACTERS]
        sentence = _last_sentence(preceding, lang) or sentence or _first_sentence(following, lang)
        yield sentence, preceding, answer[start:end]
        previous_end = end
    yield "", answer[previous_end:], ""


def _group_markers(answer: str) -> list[tuple[int, int]]:
    """Return start and end of each group of markers that have no word between them on the same line."""
    groups: list[tuple[int, int]] = []
    for start, end in citation_markers.find_markers(answer):
        between = answer[groups[-1][1] : start] if groups else "\n"
        if _WORD.search(between) or "\n" in between:
            groups.append((start, end))
        else:
            groups[-1] = (groups[-1][0], end)
    return groups


def _first_sentence(text: str, lang: str) -> str:
    return next(iter(_sentences(text, lang)), "")


def _last_sentence(text: str, lang: str) -> str:
    return next(iter(reversed(_sentences(text, lang))), "")


def _sentences(text: str, lang: str) -> list[str]:
    """Return the units of a text that contain a word."""
    if not _WORD.search(text):
        return []
    units = [text[unit.start : unit.end] for unit in split_units(text, lang) if unit.kind is not UnitKind.RULE]
    return [unit for unit in units if _WORD.search(unit)]


class _CitedPassage:
    """A passage and its words, computed once for all sentences."""

    def __init__(self, number: int, passage: Passage) -> None:
        self.number = number
        self._passage = passage
        self._citations: dict[str, Citation] = {}

    @functools.cached_property
    def numbers(self) -> frozenset[str]:
        return _digits(self._passage.text_with_headings)

    def contained_words(self, words: Sequence[str]) -> frozenset[str]:
        """Return those of the words that the passage contains, compared by their stems."""
        return frozenset(word for word in words if stem(word, self._passage.lang) in self._stems)

    def cite(self, sentence: str, lang: str) -> Citation:
        """Quote the unit of the passage that shares most words and numbers with the sentence."""
        if sentence not in self._citations:
            passage = self._passage
            terms = {stem(word, passage.lang) for word in content_words(sentence, lang)} | _digits(sentence)
            unit = max(self._units, key=lambda item: (len(terms & item[1]), -item[0].start))[0]
            start, end = passage.start + unit.start, passage.start + unit.end
            quote = passage.text[unit.start : unit.end]
            self._citations[sentence] = Citation(self.number, passage, quote, start, end)
        return self._citations[sentence]

    @functools.cached_property
    def _stems(self) -> frozenset[str]:
        return frozenset(stems(self._passage.text_with_headings, self._passage.lang))

    @functools.cached_property
    def _units(self) -> list[tuple[TextUnit, frozenset[str]]]:
        """The units of the passage with their stems and numbers."""
        text, lang = self._passage.text, self._passage.lang
        units = [unit for unit in split_units(text, lang) if unit.kind is not UnitKind.RULE]
        units = units or [TextUnit(UnitKind.SENTENCE, 0, len(text), 0)]
        return [(unit, self._terms(text[unit.start : unit.end])) for unit in units]

    def _terms(self, text: str) -> frozenset[str]:
        return frozenset(stems(text, self._passage.lang)) | _digits(text)


def _find_supporting(sentence: str, cited: Sequence[_CitedPassage], lang: str) -> list[_CitedPassage]:
    """Return the cited passages that support a sentence.

    The result is empty unless the passages together contain enough of its words and all of its numbers.
    """
    words = [word for word in content_words(sentence, lang) if not word.isdigit()]
    contained = [passage.contained_words(words) for passage in cited]
    contained_together = frozenset[str]().union(*contained)
    if not cited or len(contained_together) < _MIN_TOGETHER * len(words):
        return []
    if not _digits(sentence) <= frozenset[str]().union(*(passage.numbers for passage in cited)):
        return []
    return [
        passage
        for passage, of_passage in zip(cited, contained, strict=True)
        if len(of_passage) >= _MIN_EACH * len(words)
    ]


def _digits(text: str) -> frozenset[str]:
    """Return the numbers of a text as digits only, so that 5,000 equals 5000."""
    return frozenset("".join(filter(str.isdigit, number)) for number in _NUMBER.findall(text))
