"""Step: an answer without a language model: the sentences of the passages that answer best, quoted."""

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag.lexical import content_words, language_of, stem, stems_among
from rag.types import Citation, Passage

from .pieces import Kind, Piece, pieces

NAME = "extractive"
_MOST_SENTENCES = 3
_MOST_PASSAGES = 5
# Of one sentence: some texts have no full stops. A row or a line of code is never cut.
_MOST_CHARACTERS = 600
# A further sentence must be this good beside the best one.
_WORTH_ADDING = 0.6
# What a word counts in the headings above a sentence, or in the question that it follows, and not in itself.
_ABOVE = 0.5
# What follows `These are needed:`.
_MOST_FOLLOWING = 10
_ENDS_OPEN = (":", "：")
_ASKS = ("?", "？", "؟")
_MARK = re.compile(r"[\[［【]\s?(\d{1,4}(?:\s?[,;–-]\s?\d{1,4}){0,20})\s?[\]］】]")
_BLOCKS = (Kind.ITEM, Kind.ROW, Kind.CODE)

# From a passage's 1-based number and the passage to what follows each sentence of it.
Mark = Callable[[int, Passage], str]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """own: the question's stems that it has. above: those that only its headings have, or the question it follows."""

    number: int  # of its passage
    index: int  # among the pieces of its passage
    piece: Piece
    own: frozenset[str]
    above: frozenset[str]


def quotes(query: str, passages: Sequence[Passage]) -> list[Citation]:
    """The best supported sentences in reading order, each as it stands in its passage, which it names by number."""
    offered = passages[:_MOST_PASSAGES]
    words = content_words(query, language_of(query, [passage.lang for passage in offered]))
    cut = [pieces(passage.text, passage.lang) for passage in offered]
    found = [
        candidate
        for number, (passage, own) in enumerate(zip(offered, cut, strict=True), start=1)
        for candidate in _candidates(number, passage, own, words)
    ]
    answering = [each for each in found if not _only_leads(each, passages)]
    chosen = _best(answering or found, passages)
    spans = {
        (each.number, index, piece.start, _cut(passages[each.number - 1].text, piece))
        for each in chosen
        for index, piece in _with_what_belongs(each, cut[each.number - 1], passages[each.number - 1].text)
    }
    return [_citation(number, passages[number - 1], start, end) for number, _, start, end in sorted(spans)]


def told(cited: Sequence[Citation], mark: Mark | None = None) -> str:
    """The quotes as one text, each with its mark: `A sentence. [1]`. Rows, items and code stand in lines of their own.

    A quote's own bracketed numbers are written (3): [3] would be read as one of ours.
    """
    text = ""
    for each in cited:
        line = _MARK.sub(r"(\1)", each.quote) + (f" {mark(each.number, each.passage)}" if mark else "")
        own_line = each.quote.startswith(("|", "-", "*", "+", "•")) or "\n" in text or "\t" in each.quote
        text += ("\n" if own_line else " ") + line if text else line
    return text


def quoted_plainly(query: str, passages: Sequence[Passage]) -> str:
    """The quotes as one text without marks."""
    return told(quotes(query, passages))


def _candidates(number: int, passage: Passage, found: Sequence[Piece], words: Sequence[str]) -> list[_Candidate]:
    wanted = {stem(word, passage.lang) for word in words}

    def stems_of(text: str) -> frozenset[str]:
        return frozenset(stems_among(text, wanted, passage.lang))

    headings = stems_of("\n".join([passage.title, *passage.headings]))
    asked: frozenset[str] = frozenset()
    candidates = []
    for index, piece in enumerate(found):
        if piece.kind is Kind.RULE:
            continue
        text = passage.text[piece.start : piece.end]
        own = stems_of(text)
        candidates.append(_Candidate(number, index, piece, own, (headings | asked) - own))
        if piece.kind is Kind.HEADING or text.endswith((*_ASKS, *_ENDS_OPEN)):
            asked = own
    return candidates


def _only_leads(each: _Candidate, passages: Sequence[Passage]) -> bool:
    """Headings and questions lead to an answer and are none."""
    text = passages[each.number - 1].text[each.piece.start : each.piece.end]
    return each.piece.kind is Kind.HEADING or text.endswith(_ASKS)


def _best(found: Sequence[_Candidate], passages: Sequence[Passage]) -> list[_Candidate]:
    """What each sentence adds counts: the rarer its words among the sentences, and the better its passage."""
    holding = Counter(each for candidate in found for each in candidate.own | candidate.above)
    rarity = {each: math.log(1 + len(found) / held) for each, held in holding.items()}

    def worth(candidate: _Candidate, missing: set[str]) -> float:
        # fsum: the same whatever order a set has in this process.
        own = math.fsum(rarity[each] for each in candidate.own & missing)
        above = math.fsum(rarity[each] for each in candidate.above & missing)
        return (own + _ABOVE * above) * (0.5 + passages[candidate.number - 1].relevance)

    chosen: list[_Candidate] = []
    missing, first = set(holding), 0.0
    while found and len(chosen) < _MOST_SENTENCES:
        candidate = max(found, key=lambda each: (worth(each, missing), -each.number, -each.index))
        gain = worth(candidate, missing)
        first = first or gain
        if candidate in chosen or (chosen and gain < _WORTH_ADDING * first):
            break
        chosen.append(candidate)
        if not gain:  # no word in common: the best passage's first sentence has to do
            break
        missing -= candidate.own
    return chosen


def _with_what_belongs(each: _Candidate, found: Sequence[Piece], text: str) -> list[tuple[int, Piece]]:
    """The sentence; a row under its table's head; and after `These are needed:` the list."""
    belongs = {each.index: each.piece}
    if each.piece.kind is Kind.ROW:
        head = next(index for index, piece in enumerate(found) if piece.run == each.piece.run)
        if found[head].kind is Kind.ROW:
            belongs[head] = found[head]
    if text[each.piece.start : each.piece.end].endswith(_ENDS_OPEN):
        room = _MOST_CHARACTERS
        listed = [piece for piece in found[each.index + 1 : each.index + 2] if piece.kind in _BLOCKS]
        for index in range(each.index + 1, min(len(found), each.index + 1 + _MOST_FOLLOWING)):
            room -= found[index].end - found[index].start
            if not listed or found[index].kind is not listed[0].kind or room < 0:
                break
            belongs[index] = found[index]
    return sorted(belongs.items())


def _cut(text: str, piece: Piece) -> int:
    """Where a quote of it ends: a text without full stops is cut between two words."""
    most = piece.start + _MOST_CHARACTERS
    if piece.end <= most or piece.kind in (Kind.ROW, Kind.CODE):
        return piece.end
    kept = text[piece.start : most]
    return piece.start + (len(kept.rsplit(None, 1)[0]) or most)


def _citation(number: int, passage: Passage, start: int, end: int) -> Citation:
    return Citation(number, passage, passage.text[start:end], passage.start + start, passage.start + end)
