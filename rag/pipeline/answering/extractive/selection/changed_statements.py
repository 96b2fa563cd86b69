"""Finds the statement that changes what the best part says: "From 10 June, … for 48 hours", beside "42 hours"."""

import re
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from rag.pipeline.answering.extractive.parts.needed_parts import PassageStructure
from rag.pipeline.answering.extractive.question.answer_patterns import AnswerType
from rag.pipeline.answering.extractive.question.question_type import AnalysedQuestion
from rag.pipeline.answering.extractive.scores.answer_candidates import QuoteCandidate
from rag.text.quantities.quantity_words import CURRENCY_UNITS, MONTHS, UNITS_OF_TIME, any_of
from rag.text.quantities.stated_values import DATE, TIME_OF_DAY, WEEKDAY, find_values
from rag.text.quantities.years import YEAR
from rag.text.sentences.quotable_units import UnitKind
from rag.text.words import content_words, stem, stems_among

from .extend_quote import MAX_SECOND, with_surroundings

_MAX_CHARACTERS = 500
_MONTH_NAMES = any_of(month for months in MONTHS.values() for month in months)
_DAY_OR_MONTH = (
    rf"(?:(?:the |dem |le |el |dia |o dia )?(?:\d{{1,2}}(?:st|nd|rd|th|er|\.|°|º)? (?:de )?)?(?:{_MONTH_NAMES})\b"
    rf"|\d\d?\.\d\d?\.)"
    # A period returns every year: "from 1 April to 30 September".
    rf"(?! (?:{YEAR} )?(?:to|until|till|bis|au|à|jusqu|al|hasta|fino|até|ao|tot)\b)"
)
# From when something is valid: "with effect from 1 May", "ab 1. April", "à partir du 1er mai".
_FROM_DATE = (
    rf"\b(?:(?:from|as of|effective|since|ab|seit|dès|desde|dal|vanaf|met ingang van|sinds|a (?:decorrere"
    rf"|partire) dal|a partir do|(?:à partir|à compter|a partir) d(?:e|u|el))"
    rf"(?: den?)? {_DAY_OR_MONTH}|ab sofort|with immediate effect)"
)
_CHANGE = re.compile(
    rf"{_FROM_DATE}"
    r"|\b(?:now|new|newly|instead of|rather than|no longer"
    r"|(?:has|have|had|was|were|will be) (?:been )?(?:changed|raised|increased|lowered|reduced|moved|extended|shortened"
    r"|postponed|risen)|(?:is|are) raised|jetzt|neue?[nrs]?|künftig|nunmehr|statt|nicht mehr|geändert|erhöht|angehoben"
    r"|gesenkt|steigt|sinkt|verlegt|verschoben|désormais|dorénavant|nouve(?:au|l|lle|aux|lles)|au lieu d[eu]"
    r"|modifiée?s?|augmentée?s?|reportée?s?|passent? à|ahora|nuev[oa]s?|en (?:lugar|vez) de|ya no|modificad[oa]s?"
    r"|aumentad[oa]s?|aplazad[oa]s?|pasan? a|nuov[aeio]|invece di|anziché|non più|modificat[aeio]|aumentat[aeio]"
    r"|ridott[aeio]|spostat[aeio]|rinviat[aeio]|d['’]ora in poi|agora|(?-i:nov[oa]s?)|em vez de|já não|alterad[oa]s?"
    r"|adiad[oa]s?|passam? a|nieuwe?|voortaan|in plaats van|niet meer|gewijzigd|verhoogd|verlaagd|verplaatst"
    r"|uitgesteld)\b",
    re.IGNORECASE,
)
# An introduction with "new" says little of each of the items below it.
_FROM_WHEN = re.compile(_FROM_DATE, re.IGNORECASE)
# "What was the previous fee?"
_ASKS_FOR_PAST = frozenset({
    "former", "formerly", "previous", "previously", "original", "originally", "bisherige", "bisherigen", "früher",
    "frühere", "früheren", "ursprünglich", "ancien", "ancienne", "précédent", "précédente", "anterior", "antiguo",
    "antigua", "precedente", "vecchio", "vecchia", "antigo", "antiga", "vorige", "oude", "oorspronkelijke",
})  # fmt: skip
# Words for a price, which statements of one need not have: "guest card: £7.00".
_PRICE_WORDS = frozenset({
    "cost", "costs", "price", "prices", "fee", "fees", "charge", "charges", "pay", "kosten", "kostet", "preis",
    "preise", "zahlen", "coûte", "prix", "tarif", "payer", "cuesta", "precio", "tarifa", "pagar",
    "costa", "costano", "prezzo", "tariffa", "quota", "pagare", "custa", "custam", "preço", "kost", "prijs", "tarief",
    "betalen",
})  # fmt: skip
_YEAR = re.compile(rf"(?<!\d){YEAR}(?!\d)")
# "- Consultations: please …", "| Foundation | 6 Sundays |"
_NAME = re.compile(r"(?:[-*•+|]\s*|\d{1,3}[.)]\s)?([^:|—]{1,80})[:|—]")
_KINDS: dict[AnswerType | None, frozenset[str]] = {
    AnswerType.TIME: frozenset({DATE, TIME_OF_DAY, WEEKDAY}) | UNITS_OF_TIME,
    AnswerType.DURATION: UNITS_OF_TIME,
    AnswerType.PRICE: CURRENCY_UNITS,
}
# How much lower the score of the change may be, in standard deviations of all scores.
_MAX_DIFFERENCE = 2.0
# From this share of common words on, numbers aside, two parts are the same statement of different documents.
_MIN_SAME = 0.8


def select_changed_statement(
    quoted: Mapping[int, Collection[int]] | None,
    candidates: Sequence[QuoteCandidate],
    scores: Sequence[float],
    structures: Sequence[PassageStructure],
    question: AnalysedQuestion,
) -> tuple[dict[int, set[int]], tuple[int, int]] | None:
    """Select the part that says what is valid now, instead of what would be quoted.

    It is in another passage and says that something changes, or it is the same statement in a document of a later year,
    or it is what a mail says in reply to the mail that it quotes.
    It has the question's words in the name of the best row or item, or all of them in another best part, and another
    value of a kind that this part has, such as a price.

    Args:
        quoted: The parts that would be quoted, by passage number; None if it is the part with the highest score.
        candidates: The parts that can be quoted.
        scores: The score of each.
        structures: The structures of the numbered passages.
        question: The question.

    Returns:
        The selected parts by passage number, with the number and the index of the best one; None if nothing changes.
    """
    positions = [
        position
        for position, candidate in enumerate(candidates)
        if quoted is None or candidate.index in quoted.get(candidate.passage_number, ())
    ]
    if not positions or question.compared or _ASKS_FOR_PAST.intersection(question.words):
        return None
    position = max(positions, key=lambda position: (scores[position], -position))
    best = candidates[position]
    values = find_values(_text(structures, best))
    kinds = frozenset(kind for kind, _ in values)
    kinds &= _KINDS.get(question.answer_type, kinds)
    if not kinds:
        return None
    lowest = scores[position] - _MAX_DIFFERENCE * float(np.std(scores))
    subjects = _find_subjects(structures, best)
    if not subjects:
        return None
    asked_years = _find_years(" ".join(question.words))

    def is_change(other: QuoteCandidate, score: float) -> bool:
        is_answer = _answers(structures, other, best)
        is_elsewhere = is_answer or other.passage_number != best.passage_number
        if score < lowest or not is_elsewhere or not subjects <= other.stems:
            return False
        others = find_values(_CHANGE.sub(" ", _text(structures, other)))
        years, best_years = _years(structures, other), _years(structures, best)
        if not any(kind in kinds for kind, _ in others - values) or _is_earlier(asked_years, years):
            return False
        if _is_earlier(best_years, years) and _say_the_same(structures, best, other):
            return True
        if is_answer:
            return True
        is_valid = not (_is_earlier(years, best_years) or _tells_of_change(structures, best))
        return is_valid and _tells_of_change(structures, other)

    changes = [(score, other) for other, score in zip(candidates, scores, strict=True) if is_change(other, score)]
    if not changes:
        return None
    _, change = max(changes, key=lambda scored: scored[0])
    number, index = change.passage_number, change.index
    parts = with_surroundings(structures[number - 1], index, question, MAX_SECOND)
    return {number: parts}, (number, index if index in parts else min(parts))


def _answers(structures: Sequence[PassageStructure], candidate: QuoteCandidate, quoted: QuoteCandidate) -> bool:
    """Return whether a part is from a mail, and the other one from a mail that it quotes."""
    structure, other = (structures[part.passage_number - 1] for part in (candidate, quoted))
    is_same_mail = structure.passage.document_id == other.passage.document_id
    return is_same_mail and other.is_in_quoted_mail(quoted.index) and not structure.is_in_quoted_mail(candidate.index)


def _find_subjects(structures: Sequence[PassageStructure], best: QuoteCandidate) -> frozenset[str]:
    """Return the question's words in the name of the best row or item, or else all that the best part has."""
    structure = structures[best.passage_number - 1]
    lang = structure.passage.lang
    words = best.stems - {stem(word, lang) for word in _PRICE_WORDS}
    has_name = structure.parts[best.index].kind in (UnitKind.ROW, UnitKind.ITEM)
    name = _NAME.match(structure.text(best.index)) if has_name else None
    return frozenset(stems_among(name[1], words, lang) if name else ()) or words


def _text(structures: Sequence[PassageStructure], candidate: QuoteCandidate) -> str:
    return structures[candidate.passage_number - 1].text(candidate.index)[:_MAX_CHARACTERS]


def _tells_of_change(structures: Sequence[PassageStructure], candidate: QuoteCandidate) -> bool:
    """Return whether a part says that something changes, or its lead-in from when something is valid."""
    structure = structures[candidate.passage_number - 1]
    lead_in = structure.lead_in(candidate.index)
    is_introduced = lead_in is not None and bool(_FROM_WHEN.search(structure.text(lead_in)[:_MAX_CHARACTERS]))
    return is_introduced or bool(_CHANGE.search(_text(structures, candidate)))


def _say_the_same(structures: Sequence[PassageStructure], candidate: QuoteCandidate, other: QuoteCandidate) -> bool:
    """Return whether two parts are the same statement, numbers aside."""
    words, others = (
        {word for word in content_words(_text(structures, part), "") if not word[0].isdigit()}
        for part in (candidate, other)
    )
    return len(words & others) >= _MIN_SAME * len(words | others) > 0


def _years(structures: Sequence[PassageStructure], candidate: QuoteCandidate) -> set[int]:
    """Return the years that a part and the headings above it name, and those of its document's date and names."""
    passage = structures[candidate.passage_number - 1].passage
    years = _find_years("\n".join([_text(structures, candidate), passage.title, passage.path, *passage.headings]))
    return years | ({passage.date.year} if passage.date else set())


def _find_years(text: str) -> set[int]:
    return set(map(int, _YEAR.findall(text)))


def _is_earlier(years: Collection[int], others: Collection[int]) -> bool:
    return bool(years and others) and max(years) < max(others)
