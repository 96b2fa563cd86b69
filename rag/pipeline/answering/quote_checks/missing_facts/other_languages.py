"""What may be an answer in Italian, Portuguese or Dutch, and what may be a price in other scripts.

The words are compared only with texts of their own language: they mean something else in other ones.
"""

import re
from collections.abc import Mapping

from rag.pipeline.answering.extractive.question.answer_patterns import AnswerType
from rag.pipeline.answering.extractive.question.other_scripts import has_answer
from rag.text.languages import language_name, snowball_algorithm
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
    "portuguese": rf"(?:às|das|pelas) (?:{_HOURS['portuguese']}|uma)|almoço|antes|depois|encerra\w*|jantar|logo"
    rf"|quando"
    r"|sempre|a(?:manh|noit)ecer|leves?|pesad\w+",
    "dutch": rf"(?:om|tot|vanaf|voor|na) (?:{_HOURS['dutch']})|avond\w*|begin|dicht|direct|einde|half|lunch|middag\w*"
    rf"|nacht\w*"
    r"|ochtend\w*|rond|wanneer|zodra|licht\w*|\w*zwaar",
})  # fmt: skip
_OTHER_SCRIPTS = frozenset({"russian", "arabic", "chinese", "japanese", "korean"})
# Numbers that are no prices.
_OTHER_NUMBERS = re.compile(
    r"\+?\(?\d[\d ()–-]{5,18}\d|\d{1,2}:\d\d|\d{1,4}[年月日号時时点]|(?<!\d)(?:19|20)\d\d(?!\d)"
    r"|\d{1,2} (?:январ|феврал|март|апрел|ма[йя]|июн|июл|август|сентябр|октябр|ноябр|декабр)\w*"
    r"|\d+ ?(?:%|％|٪|分|小时|小時|時間|天|个月|個月|个?工作日|営業日|か月|周|週|人|名|米|公里|公斤|メートル"
    r"|시간|명|개월"
    r"|минут|час|дн|лет|год|месяц|недел|человек|к?м\b|кг|(?<!\w)(?:دقيقة|دقائق|ساعة|ساعات|يوم|أيام|شهر|أشهر|سنة"
    r"|متر|شخص|أشخاص))"
)
_ASKS_FOR_SHARE = re.compile(
    r"折|优惠|手续费|利率|税|割引|手数料|할인|수수료|скидк|процент|комисс|надбав|خصم|نسبة|عمولة|ضريبة"
)
_PRICES_ELSEWHERE = re.compile(
    r"плат|оплач|сч[её]т|скидк|договор|завис|вход[ия]т|включ|взима|половин|цен|стоимост|包含|包括|取决|另议|一半"
    r"|自费|承担|折|免|无需|不收"
    r"|含まれ|応じ|別途|負担|半額|割引|دفع|يشمل|مشمول|حسب|نصف|خصم|يتحمل|مقابل|포함|별도|부담|절반|할인",
    re.IGNORECASE,
)
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


def is_in_other_script(lang: str) -> bool:
    """Return whether a language is one whose prices `may_be_price_in_other_script` knows."""
    return language_name(lang) in _OTHER_SCRIPTS


def may_be_price_in_other_script(query: str, text: str) -> bool:
    """Return whether a Russian, Arabic, Chinese, Japanese or Korean text may say what something costs."""
    rest = text if _ASKS_FOR_SHARE.search(query) else _OTHER_NUMBERS.sub(" ", text)
    has_price = has_answer(rest, AnswerType.PRICE) or bool(_PRICES_ELSEWHERE.search(rest))
    return has_price or any(map(str.isdigit, rest))


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
