"""The sentences, rows and items of passages that an extractive answer can quote."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rag.text.units import TextUnit, UnitKind
from rag.text.words import stem, stems_among
from rag.types import Passage

LEAD_IN_ENDINGS = (":", "：")
_QUESTION_ENDINGS = ("?", "？", "؟")


@dataclass(frozen=True, slots=True)
class QuoteCandidate:
    """A unit of a passage.

    Attributes:
        passage_number: The passage's number in the prompt, from 1.
        unit_index: The unit's index among the units of its passage.
        unit: The unit. Its offsets are relative to the passage's text.
        stems: The question's stems that the unit contains.
        heading_stems: The question's other stems that the headings above the unit contain, or the question before it.
    """

    passage_number: int
    unit_index: int
    unit: TextUnit
    stems: frozenset[str]
    heading_stems: frozenset[str]

    def text(self, passages: Sequence[Passage]) -> str:
        """Return the candidate's text. `passages` are the numbered passages of the prompt."""
        return passages[self.passage_number - 1].text[self.unit.start : self.unit.end]

    def is_lead_in(self, passages: Sequence[Passage]) -> bool:
        """Return whether the unit is a heading or a question, which introduces an answer but is not one."""
        return self.unit.kind is UnitKind.HEADING or self.text(passages).endswith(_QUESTION_ENDINGS)


def find_quote_candidates(
    number: int, passage: Passage, units: Sequence[TextUnit], question_words: Iterable[str]
) -> list[QuoteCandidate]:
    """Return the units of a passage that can be quoted, in order.

    Args:
        number: The passage's number in the prompt, from 1.
        passage: The passage.
        units: The units of the passage's text (rag.text.units.split_units).
        question_words: The content words of the question.
    """
    question_stems = {stem(word, passage.lang) for word in question_words}

    def stems_in(text: str) -> frozenset[str]:
        return frozenset(stems_among(text, question_stems, passage.lang))

    headings = stems_in("\n".join([passage.title, *passage.headings]))
    lead_in: frozenset[str] = frozenset()
    candidates = []
    for index, unit in enumerate(units):
        if unit.kind is UnitKind.RULE:
            continue
        text = passage.text[unit.start : unit.end]
        stems = stems_in(text)
        candidates.append(QuoteCandidate(number, index, unit, stems, (headings | lead_in) - stems))
        if unit.kind is UnitKind.HEADING or text.endswith((*_QUESTION_ENDINGS, *LEAD_IN_ENDINGS)):
            lead_in = stems
    return candidates
