"""What may be an answer in Italian, Portuguese or Dutch.

The words are compared only with texts of their own language: they mean something else in other ones.
"""

import re
from collections.abc import Mapping

from rag.text.languages import snowball_algorithm
from rag.text.quantities.number_words import NUMBERS_BY_LANGUAGE
from rag.text.quantities.quantity_words import any_of
from rag.text.words import split_words

_HOURS = {language: any_of(NUMBERS_BY_LANGUAGE[language]) for language in ("italian", "portuguese", "dutch")}


def _compile(words_by_language: Mapping[str, str]) -> dict[str, re.Pattern[str]]:
    return {
        language: re.compile(rf"\b(?:{words})(?!\w)", re.IGNORECASE) for language, words in words_by_language.items()
    }


# What is said instead of a price, or of its amount: who pays, that nobody does, on what it depends.
_PRICES = _compile({
    "italian": r"base|carico|dipend\w+|doppi[ao]|libero|libera|metà|mezz[oa]|non|offr\w+|offert\w+|pag\w+|richiesta"
    r"|somma"
    r"|spese?|vari\w+|vers\w+",
    "portuguese": r"cargo|conta|depend\w+|dobro|isent\w+|livres?|metade|não|ofere\w+|pag\w+|pedido|suport\w+|vari\w+",
    "dutch": r"afhankelijk|betaal\w*|dubbel\w*|geen|gratis|hangt|helft|niet|rekening|vergoed\w*|vrij\w*|wisselt",
})  # fmt: skip
# A part of the day, or no certain time, or what is said of a weight.
_TIMES_AND_WEIGHTS = _compile({
    "italian": rf"(?:alle|dalle|verso le|le) (?:{_HOURS['italian']})|all['’](?:una|alba|apertura)|alba|appena|cena"
    rf"|chiusura"
    r"|colazione|mai|mezzo\w*|pranzo|quando|solito|legger\w+|mezz\w+|pesant\w+",
    "portuguese": rf"(?:às|das|pelas) (?:{_HOURS['portuguese']}|uma)|almoço|antes|depois|encerra\w*|jantar|logo|quando"
    r"|sempre|a(?:manh|noit)ecer|leves?|pesad\w+",
    "dutch": rf"(?:om|tot|vanaf|voor|na) (?:{_HOURS['dutch']})|avond\w*|begin|dicht|direct|einde|half|lunch|middag\w*"
    rf"|nacht\w*"
    r"|ochtend\w*|rond|wanneer|zodra|licht\w*|\w*zwaar",
})  # fmt: skip
_COUNTS = _compile({
    "italian": r"alcun\w*|coppia|decin\w+|divers[ie]|dozzin\w+|entramb[ie]|limit\w+|molt[ie]|nessun\w*|non|paio"
    r"|parecchi\w*"
    r"|poch[ie]|sol[aeio]|un (?:anno|giorno|mese)|una settimana|un['’]ora|unic[ao]",
    "portuguese": r"algu(?:ns|mas)|ambos|apenas|dezenas?|dúzias?|limite|muit[oa]s|não|nenhum\w*|pouc[oa]s|só|únic[oa]"
    r"|uma? (?:ano|dia|hora|mês|semana)|vári[oa]s",
    "dutch": r"alleen|beide|dozijn|een (?:dag|jaar|maand|uur|week)|enkele?|geen|limiet|meerdere|niet|onbeperkt|paar"
    r"|slechts"
    r"|tiental\w*|veel|verschillende|weinig",
})  # fmt: skip


def may_be_price(text: str, lang: str) -> bool:
    """Return whether a text in one of the languages may say what something costs, without an amount."""
    return _has_words(_PRICES, text, lang)


def may_be_time_or_weight(text: str, lang: str) -> bool:
    """Return whether a text in one of the languages may say when or how heavy something is, without a number."""
    return _has_words(_TIMES_AND_WEIGHTS, text, lang)


def may_be_count(text: str, lang: str) -> bool:
    """Return whether a text in one of the languages may say how many there are, such as with the name of a number."""
    numbers = NUMBERS_BY_LANGUAGE[snowball_algorithm(lang)] if snowball_algorithm(lang) in _COUNTS else {}
    return _has_words(_COUNTS, text, lang) or not numbers.keys().isdisjoint(split_words(text))


def _has_words(patterns: Mapping[str, re.Pattern[str]], text: str, lang: str) -> bool:
    pattern = patterns.get(snowball_algorithm(lang))
    return pattern is not None and bool(pattern.search(text))
