"""Step: an answer without a language model: the sentences of the passages that answer best, quoted."""

import math
import re
import statistics
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rag.text.units import TextUnit, UnitKind, split_units
from rag.text.words import content_words, query_language, split_words, stem, stems_among
from rag.types import Citation, Passage

from .sentence_similarity import MAX_PASSAGES, SentenceSimilarity

EXTRACTIVE_MODEL = "extractive"
_MOST_SENTENCES = 3
# Of one sentence: some texts have no full stops. A row or a line of code is never cut.
_MOST_CHARACTERS = 600
# A further sentence stands out at most this much less than the best one, in standard deviations, and all of them
# together have room in so many characters. What it adds of the question's words counts up to two deviations.
_WORTH_ADDING, _MOST_TOGETHER, _ADDED = 1.0, 300, 2.0
# Or it has this share of what the question's words weigh, and no chosen one has those: it answers another part.
_ANOTHER_PART = 1 / 3
# What a word counts in the headings above a sentence, or in the question that it follows, and not in itself.
_ABOVE = 0.5
# What follows `These are needed:`.
_MOST_FOLLOWING = 10
_ENDS_OPEN = (":", "：")
_ASKS = ("?", "？", "؟")
_MARK = re.compile(r"[\[［【]\s?(\d{1,4}(?:\s?[,;–-]\s?\d{1,4}){0,20})\s?[\]］】]")
_BLOCKS = (UnitKind.ITEM, UnitKind.ROW, UnitKind.CODE)

# From a passage's 1-based number and the passage to what follows each sentence of it.
CitationFormatter = Callable[[int, Passage], str]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """own: the question's stems that it has. above: those that only its headings have, or the question it follows."""

    number: int  # of its passage
    index: int  # among the pieces of its passage
    piece: TextUnit
    own: frozenset[str]
    above: frozenset[str]


def extract_quotes(query: str, passages: Sequence[Passage], near: SentenceSimilarity | None = None) -> list[Citation]:
    """The best supported sentences in reading order, each as it stands in its passage, which it names by number.

    near: how near they come to the question by meaning; without it words alone decide.
    """
    offered = passages[:MAX_PASSAGES]
    asked = content_words(query, query_language(query, [passage.lang for passage in offered]))
    cut = [split_units(passage.text, passage.lang) for passage in offered]
    found = [
        candidate
        for number, (passage, own) in enumerate(zip(offered, cut, strict=True), start=1)
        for candidate in _candidates(number, passage, own, asked)
    ]
    answering = [each for each in found if not _only_leads(each, passages)]
    chosen = _best(answering or found, passages, near or SentenceSimilarity())
    spans = {
        (each.number, index, piece.start, _cut(passages[each.number - 1].text, piece))
        for each in chosen
        for index, piece in _with_what_belongs(each, cut[each.number - 1], passages[each.number - 1].text)
    }
    return [_citation(number, passages[number - 1], start, end) for number, _, start, end in sorted(spans)]


def render_quotes(cited: Sequence[Citation], mark: CitationFormatter | None = None) -> str:
    """The quotes as one text, each with its mark: `A sentence. [1]`. Rows, items and code stand in lines of their own.

    A quote's own bracketed numbers are written (3): [3] would be read as one of ours.
    """
    text = ""
    for each in cited:
        line = _MARK.sub(r"(\1)", each.quote) + (f" {mark(each.number, each.passage)}" if mark else "")
        own_line = each.quote.startswith(("|", "-", "*", "+", "•")) or "\n" in text or "\t" in each.quote
        text += ("\n" if own_line else " ") + line if text else line
    return text


def _candidates(number: int, passage: Passage, found: Sequence[TextUnit], asked: Sequence[str]) -> list[_Candidate]:
    wanted = {stem(word, passage.lang) for word in asked}

    def stems_of(text: str) -> frozenset[str]:
        return frozenset(stems_among(text, wanted, passage.lang))

    headings = stems_of("\n".join([passage.title, *passage.headings]))
    question: frozenset[str] = frozenset()
    candidates = []
    for index, piece in enumerate(found):
        if piece.kind is UnitKind.RULE:
            continue
        text = passage.text[piece.start : piece.end]
        own = stems_of(text)
        candidates.append(_Candidate(number, index, piece, own, (headings | question) - own))
        if piece.kind is UnitKind.HEADING or text.endswith((*_ASKS, *_ENDS_OPEN)):
            question = own
    return candidates


def _only_leads(each: _Candidate, passages: Sequence[Passage]) -> bool:
    """Headings and questions lead to an answer and are none."""
    text = passages[each.number - 1].text[each.piece.start : each.piece.end]
    return each.piece.kind is UnitKind.HEADING or text.endswith(_ASKS)


def _best(found: Sequence[_Candidate], passages: Sequence[Passage], near: SentenceSimilarity) -> list[_Candidate]:
    """The sentence that stands out most, by words and by meaning, and a few that come near it or say what it lacks."""
    weight = _rarity(found)
    all_words = sum(weight.values()) or 1.0
    standing = _standing(found, passages, weight, near)
    if not any(standing):  # nothing tells them apart: the best passage's first sentence has to do
        return list(found[:1])
    least = max(standing) - _WORTH_ADDING
    chosen: list[_Candidate] = []
    missing, said, room = set(weight), set[str](), _MOST_TOGETHER

    def added(index: int) -> float:
        return _sum(weight, found[index].own & missing) / all_words if chosen else 0.0

    def worth(index: int) -> float:
        return standing[index] + _ADDED * added(index)

    left = list(range(len(found)))
    while len(chosen) < _MOST_SENTENCES:
        worthy = [index for index in left if worth(index) >= least or added(index) >= _ANOTHER_PART]
        if not worthy:
            break
        best = max(worthy, key=lambda index: (worth(index), -index))
        left.remove(best)
        own = _words(found[best], passages)
        if chosen and (own <= said or _length(found[best]) > room):
            continue
        chosen.append(found[best])
        missing -= found[best].own
        said |= own
        room -= _length(found[best])
    return chosen


def _rarity(found: Sequence[_Candidate]) -> dict[str, float]:
    """What a stem counts: the more, the fewer of the sentences have it."""
    holding = Counter(each for candidate in found for each in candidate.own | candidate.above)
    return {each: math.log(1 + len(found) / held) for each, held in holding.items()}


def _standing(
    found: Sequence[_Candidate], passages: Sequence[Passage], weight: Mapping[str, float], near: SentenceSimilarity
) -> list[float]:
    """How far each stands out among them: by its words, and by how near it comes to the question."""
    by_words = [_sum(weight, each.own) + _ABOVE * _sum(weight, each.above) for each in found]
    nearest = [near.of(*_place(each, passages)) for each in found]
    known = [each for each in nearest if each is not None]
    usual = sum(known) / len(known) if known else 0.0
    by_meaning = [usual if each is None else each for each in nearest]
    return [one + other for one, other in zip(_standard(by_words), _standard(by_meaning), strict=True)]


def _standard(values: Sequence[float]) -> list[float]:
    """Standard scores; zeros where nothing differs."""
    mean, width = (statistics.fmean(values), statistics.pstdev(values)) if values else (0.0, 0.0)
    return [(each - mean) / width if width > 1e-9 else 0.0 for each in values]


def _sum(weight: Mapping[str, float], stems: frozenset[str]) -> float:
    # fsum: the same whatever order a set has in this process.
    return math.fsum(weight[each] for each in stems)


def _length(each: _Candidate) -> int:
    return min(_MOST_CHARACTERS, each.piece.end - each.piece.start)


def _words(each: _Candidate, passages: Sequence[Passage]) -> set[str]:
    passage = passages[each.number - 1]
    return set(split_words(passage.text[each.piece.start : each.piece.end], passage.lang))


def _place(each: _Candidate, passages: Sequence[Passage]) -> tuple[uuid.UUID, int, int]:
    passage = passages[each.number - 1]
    return passage.document_id, passage.start + each.piece.start, passage.start + each.piece.end


def _with_what_belongs(each: _Candidate, found: Sequence[TextUnit], text: str) -> list[tuple[int, TextUnit]]:
    """The sentence; a row under its table's head; and after `These are needed:` the list."""
    belongs = {each.index: each.piece}
    if each.piece.kind is UnitKind.ROW:
        head = next(index for index, piece in enumerate(found) if piece.run == each.piece.run)
        if found[head].kind is UnitKind.ROW:
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


def _cut(text: str, piece: TextUnit) -> int:
    """Where a quote of it ends: a text without full stops is cut between two words."""
    most = piece.start + _MOST_CHARACTERS
    if piece.end <= most or piece.kind in (UnitKind.ROW, UnitKind.CODE):
        return piece.end
    kept = text[piece.start : most]
    return piece.start + (len(kept.rsplit(None, 1)[0]) or most)


def _citation(number: int, passage: Passage, start: int, end: int) -> Citation:
    return Citation(number, passage, passage.text[start:end], passage.start + start, passage.start + end)
