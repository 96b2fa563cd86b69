"""Step: a question and the quotes for it -> whether they have what every answer to it must have.

Only what is surely missing counts: a wrong refusal hides an answer.
"""

import re
from collections.abc import Sequence

from rag.pipeline.answering.extractive.question.answer_patterns import AnswerType
from rag.pipeline.answering.extractive.question.answer_types import (
    expected_answer_type,
    has_answer_of_type,
    has_count,
)
from rag.pipeline.answering.extractive.question.question_type import is_yes_or_no
from rag.pipeline.answering.generate import PreparedGeneration
from rag.pipeline.grounding.cross_language_grounding import is_in_other_language
from rag.text.languages import snowball_algorithm
from rag.text.quantities.quantity_words import CURRENCIES, MONTHS, NUMBER_WORDS, TIME_UNITS, UNIT_OF_WORD, any_of
from rag.text.quantities.years import YEAR
from rag.types import Citation

from .missing_facts.company_names import lacks_name
from .missing_facts.other_languages import (
    is_in_other_script,
    may_be_count,
    may_be_price,
    may_be_price_in_other_script,
    may_be_time_or_weight,
)
from .missing_facts.persons import lacks_person
from .missing_facts.times_and_weights import lacks_time_or_weight
from .other_things.other_codes import names_other_code
from .other_things.other_rows import is_of_other_row
from .other_things.other_years import is_about_other_years
from .other_things.similar_names import has_other_number, has_similar_name

_CONTACTS = frozenset({AnswerType.PHONE_NUMBER, AnswerType.EMAIL_ADDRESS})
# Whether a text has a price or a number of something can only be seen in these.
_LANGUAGES = frozenset({"english", "german", "french", "spanish", "italian", "portuguese", "dutch"})
_MONTH_NAMES = any_of(month for months in MONTHS.values() for month in months)
# Numbers that are neither prices nor parts of a telephone number.
_TIME_OR_DATE = re.compile(
    r"(?<![\d.,:/])(?:\d\d?[./]\d\d?[./](?:\d\d){1,2}|\d\d?[:.]\d\d(?: ?(?:uhr|uur|h|[ap]\.?m\.?)\b|(?<=:\d\d))"
    r"|\b(?:dalle|alle|ore|às|om) (?:1?\d|2[0-4])(?:[.:]\d\d)?(?=\s*(?:[.;)]|\Z|(?:e|alle|às)\b))"
    rf"|\d\d?(?:st|nd|rd|th|er|\.|°|º)? (?:de )?(?:{_MONTH_NAMES})\b(?: (?:de )?{YEAR})?"
    rf"|\b(?:in|im|en|since|from|until|by|seit|ab|bis|depuis|dès|desde|hasta|nel|dal|em|até|sinds|tot|vanaf) {YEAR}\b"
    r"(?! (?:per|pro|par|por)\b))",
    re.IGNORECASE,
)
_MEASURES = any_of(
    word for word, unit in UNIT_OF_WORD.items() if unit not in "€$£%" and word not in CURRENCIES and word.isalpha()
)
_MEASURE = re.compile(rf"(?<![\d.,])\d[\d.,]*[ -]?(?:{_MEASURES})(?!\w)", re.IGNORECASE)
_AMOUNT_OF_MONEY = re.compile(
    rf"[€$£] ?\d[\d.,]*|(?<![\d.,])\d[\d.,]*\s?(?:[€$£]|(?:{any_of(CURRENCIES)})\b)", re.IGNORECASE
)
_SHORT_NUMBER = re.compile(
    r"\b(?:call|dial|direct|ext|extension|internal|number|phone|press|ring|tel|telephone|apparat|durchwahl|intern|nebenstelle"
    r"|nummer|tel|telefon|wähl\w+|appel\w*|faire|composez|interne|numéro|poste|téléphone|extensión|interno|llam\w+|marque"
    r"|número|teléfono|chiam\w+|numero|telefono|ligar|ligue|ramal|telefone|bel|toestel|telefoon)\b\D{0,20}\d",
    re.IGNORECASE,
)
_LONG_NUMBER = re.compile(r"\d(?:[ ./()-]{0,2}\d){2}")
_PERCENT = re.compile(
    r"(?<![\d.,])\d[\d.,]*\s?(?:%|per ?cent|prozent|pour cent|por ciento|per cento|por cento"
    r"|procent)",
    re.IGNORECASE,
)
_SHARE = re.compile(
    r"bonus|discount|fee|charge|commission|rate|interest|tax|gebühr|provision|rabatt|zins|frais|taux|comisión|sconto"
    r"|desconto|korting|\btass[oa]\b|\btaxa\b",
    re.IGNORECASE,
)
# "The cost center for travel" and "the price list" are no prices.
_OTHER_COSTS = re.compile(
    r"\b(?:cent(?:er|re)|code|list|of living|policy|process|reduction|review|schedule|structure|type|did)\b",
    re.IGNORECASE,
)
# What is said instead of a price: that there is none, who pays it, or on what it depends.
_NO_PRICE = re.compile(
    rf"[€$£¥₹₽₺]|\b(?:{any_of((*CURRENCIES, *NUMBER_WORDS))}|double|free|included"
    r"|complimentary|covered|waived|nothing|no|not|without|none|depends?"
    r"|varies|request|discount|reduced|pays?|paid|frei|kein\w*|nichts?|ohne|kosten(?:los|frei)|gebührenfrei"
    r"|unentgeltlich|gratis|umsonst|inklusive|inbegriffen|enthalten|anfrage|rabatt|ermäßig\w*|trägt|übernimmt|aucune?"
    r"|pas|sans|gratuit\w*|inclu\w*|libre|offert\w*|devis|remise|ningun\w*|sin|no|descuento|cubiert\w*|nessun\w*|senza"
    r"|nulla|compres[aeio]|sconto|preventivo|ridott[aeio]|a carico|pagan[oa]|nenhum\w*|não|sem|nada|desconto|orçamento"
    r"|a cargo|geen|niet|niets|zonder|inbegrepen|inclusief|korting|offerte|betaalt|betalen|kosteloos|aanvraag)\b",
    re.IGNORECASE,
)
_COUNT = re.compile(
    rf"\d|,[^,.]{{1,40}}(?:,|\b(?:and|und|et|y)\b)|\b(?:an?|eine?[nmr]?|une?|una) (?:{any_of(TIME_UNITS)})\b"
    rf"|\b(?:{any_of(NUMBER_WORDS)}|one|single|both|several|few|couple|dozens?|many|unlimited|limit|any|no|none"
    rf"|nobody|kein\w*"
    r"|beide|mehrere|einige|wenige|dutzend|beliebig\w*|unbegrenzt\w*|viele|aucune?|deux|plusieurs|douzaine|illimité\w*"
    r"|quelques|ningun\w*|ambos|varios|docena|ilimitad\w*|algun[oa]s)\b",
    re.IGNORECASE,
)
_ANY_YEAR = re.compile(
    r"\d{3}|['’]\d\d\b|\d[./-]\d\d\b|\b(?:[MDCLX][MDCLXVI]{3,}|\w*jahr\w*|years?|ago|century|decade|année|ans?|siècle"
    r"|años?|siglo|ann[oi]|secolo|(?:sette|otto|nove)cento|dopoguerra|anos?|século|jaar|jaren|eeuw|geleden)\b",
    re.IGNORECASE,
)
# A number, or something that may name the version, such as "the short version" or "the latest one".
_ANY_VERSION = re.compile(
    r"\d|versi[oó]n|release|edition|ausgabe|fassung|édition|edición|\b(?:any|all|each|every|latest|newest|current|both"
    r"|jede\w*|alle|neueste\w*|aktuelle\w*|toutes?|dernière|récente|cualquier|todas|última|reciente|qualsiasi|tutte"
    r"|ultima|versão|versie|qualquer|elke|laatste|nieuwste)\b",
    re.IGNORECASE,
)
_CONTACT_IN_WORDS = re.compile(
    r"\b(?:what|which|wie|was|quel|quelle|cuál|qual|wat|of|de|du|des|der|von|vom|del|della"
    r"|di|do|da|van)\b",
    re.IGNORECASE,
)
_GERMAN_VERB = re.compile(r"(?:ändern|löschen|ieren|prüfen|anzeigen|eintragen|hinterlegen|speichern)\W*\Z")
_ADDRESS = re.compile(r"https?://|\w\.\w{2,}/|\bat\b.{1,40}\bdot\b", re.IGNORECASE)


def has_required_facts(query: str, generation: PreparedGeneration, gaps: Sequence[str]) -> bool:
    """Return whether quotes can be the answer to a question.

    They cannot if they have no telephone number, address, year or version that was asked for, nothing that may be a
    price or a number of things, no name of a company or holder of an office, or only other years, another code of a
    series or a thing of a similar name.

    Args:
        query: The question.
        generation: The answer with its quotes.
        gaps: The phrases of the question that no passage mentions.
    """
    text, citations = generation.quoted_text, generation.quotes or ()
    shown = "\n".join([text, *generation.headings])
    answer_type, labels = expected_answer_type(query), _labels(generation)
    if any(has_similar_name(shown, gap) for gap in gaps) or has_other_number("\n".join([shown, *labels]), query):
        return False
    passage = citations[0].passage if citations else None
    lang = passage.lang if passage else ""
    may_be_any_year = answer_type is AnswerType.TIME and not is_in_other_script(lang)
    if not may_be_any_year and is_about_other_years(query, shown, gaps, passage):
        return False
    if generation.first_quote and is_of_other_row(query, generation.first_quote):
        return False
    if lacks_name(query, shown) or lacks_person(query, text):
        return False
    if _is_known(citations) and lacks_time_or_weight(query, text) and not may_be_time_or_weight(text, lang):
        return False
    if not is_yes_or_no(query) and names_other_code(query, text, labels):
        return False
    if answer_type in _CONTACTS and (_GERMAN_VERB.search(query) or not _CONTACT_IN_WORDS.search(query)):
        return True
    match answer_type:
        case AnswerType.PHONE_NUMBER:
            return has_answer_of_type(text, answer_type) or _may_be_phone_number(text)
        case AnswerType.EMAIL_ADDRESS:
            return has_answer_of_type(text, answer_type) or bool(_ADDRESS.search(text))
        case AnswerType.YEAR:
            return bool(_ANY_YEAR.search(text))
        case AnswerType.VERSION:
            return not _is_known(citations) or bool(_ANY_VERSION.search(text))
        case AnswerType.PRICE if is_in_other_script(lang):
            return may_be_price_in_other_script(query, text)
        case AnswerType.PRICE:
            return not _is_known(citations) or _may_be_price(query, text) or may_be_price(text, lang)
        case _:
            return not _is_known(citations) or _may_be_count(query, text, citations)


def _labels(generation: PreparedGeneration) -> list[str]:
    """Return the title of the first quote's document and the headings above it."""
    passages = [citation.passage for citation in (generation.quotes or ())[:1]]
    return [*generation.headings[:1], *(label for passage in passages for label in (passage.title, *passage.headings))]


def _is_known(citations: Sequence[Citation]) -> bool:
    return all((snowball_algorithm(citation.passage.lang) or "english") in _LANGUAGES for citation in citations)


def _may_be_phone_number(text: str) -> bool:
    text = _PERCENT.sub("", _MEASURE.sub("", _AMOUNT_OF_MONEY.sub("", _TIME_OR_DATE.sub("", text))))
    return bool(_SHORT_NUMBER.search(text) or _LONG_NUMBER.search(text))


def _may_be_price(query: str, text: str) -> bool:
    text = text if _SHARE.search(query) else _PERCENT.sub("", text)
    if _OTHER_COSTS.search(query) or _NO_PRICE.search(text):
        return True
    return any(map(str.isdigit, _MEASURE.sub("", _TIME_OR_DATE.sub("", text))))


def _may_be_count(query: str, text: str, citations: Sequence[Citation]) -> bool:
    if _COUNT.search(text) or is_in_other_language(query, [citation.passage for citation in citations]):
        return True
    lang = citations[0].passage.lang if citations else ""
    return may_be_count(text, lang) or has_count(text, query, lang)
