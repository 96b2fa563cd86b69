"""What an answer of each type looks like: a time, a price, a number, a version, a contact and others."""

import enum

from rag.text.quantities.quantity_words import CURRENCIES, DAYS, MONTHS, NUMBER_WORDS, TIME_UNITS, any_of


class AnswerType(enum.Enum):
    """What a question asks for."""

    TIME = "time"
    DURATION = "duration"
    PRICE = "price"
    VERSION = "version"
    NUMBER = "number"
    YEAR = "year"
    PHONE_NUMBER = "phone number"
    EMAIL_ADDRESS = "email address"


_NUMBERS = any_of(NUMBER_WORDS)
MONTH_NAMES = any_of(month for months in MONTHS.values() for month in months)
_UNITS = rf"(?:working |business )?(?:{any_of(TIME_UNITS)})"
# Only from the beginning of a number on, or a row of digits would take quadratic time.
_AMOUNT = rf"(?:(?<![\d.,])[.,]*\d[\d.,]*|\b(?:{_NUMBERS}|an?|one|eine?[mnr]?|une?|una|uma|een|mezz[ao]?|meia))"
# These Italian and Portuguese numbers are other words in other languages, so they need a unit right behind them.
_SHORT_NUMBERS = "(?:due|sei|otto|dez)"
_SHORT_TIMES = (
    rf"\b(?:{_SHORT_NUMBERS} (?:anni|anos|dias|giorni|horas|mesi|meses|minut[io]s?|notti|noites|ore|settimane|semanas)"
    r"|um (?:ano|dia|mês|minuto)|(?:un|mezz)['’]ora)\b"
)
# What costs nothing, or nothing more.
_FREE = (
    "free|included|no (?:charge|cost|fee)|nothing|kostenlos|kostenfrei|gratis|umsonst|inklusive|inbegriffen"
    "|gratuite?(?:s|ment)?|inclu(?:se?s?|ido|ida)s?|gratuit[oa]s?|gratuiti|grátis|compres[aeio]|inclus[aeio]"
    "|incluíd[ao]s?|inbegrepen|inclusief|kosteloos"
)
_TIMES = (
    r"(?:1\d|20)\d\d", r"\d\d?:\d\d", r"\d\d?\.\d\d? ?(?:uhr|uur|h|[ap]\.?m\.?)", r"\d\d?\.\d\d?\.(?:\d\d)*",
    r"(?:[01]?\d|2[0-4]) ?h(?:\d\d)?", r"\d\d?(?:st|nd|rd|th)", r"\d\d? (?:[ap]\.?m\.?|uhr|uur)",
    # "alle 17", but not the German "alle 14 Tage".
    r"(?:dalle|ore|às) \d\d?", r"alle \d\d?(?:[.:]\d\d)?(?= e |[.,;)]|\s*\Z)",
    rf"\d\d?(?:\.|er|°|º)? (?:de )?(?:{MONTH_NAMES})", rf"(?:in )?(?:{MONTH_NAMES}) \d",
    rf"(?:in|im|en|em|ad) (?:{MONTH_NAMES})",
    any_of(DAYS), "noon|midnight|mittags?|mitternachts?|midi|minuit|mediodía|medianoche|mezzogiorno|mezzanotte|meio-dia"
    "|meia-noite|middernacht",
    "daily|weekly|monthly|yearly|annually|täglich|wöchentlich|monatlich|jährlich|giornalmente|settimanalmente"
    "|mensilmente|annualmente|diariamente|semanalmente|mensalmente|anualmente|dagelijks|wekelijks|maandelijks"
    "|jaarlijks",
    r"(?:every|each|once an?|twice an?|within|after|before|pro|jeden?|alle|nach|chaque|cada|ogni|entro|dopo|tutti i"
    r"|tutte le|todos os|todas as|elke|iedere|binnen) (?:\w+ ){0,2}"
    rf"(?:{_UNITS})",
)  # fmt: skip
# "Any number of workers can run": no number is the answer to "How many?", either.
_NO_LIMIT = (
    r"(?:any number of|as many \w+ as|(?:no|without) (?:upper )?(?:limit|maximum)|unlimited|not (?:limited|restricted)"
    r"|beliebig viele|unbegrenzt|(?:nicht|keine) begrenz|illimité|sans limite|ilimitad|sin límite"
    r"|illimitat|senza limit|sem limite|onbeperkt)"
)
ANSWERS = {
    AnswerType.TIME: rf"\b(?:{'|'.join(_TIMES)})\b",
    AnswerType.DURATION: rf"{_AMOUNT}[ -](?:\w+ )?(?:{_UNITS})\b|{_SHORT_TIMES}",
    # "2.50" is an amount, "2.50.10" a version, and "14.30 Uhr" or "alle 14.30" a time.
    AnswerType.PRICE: r"[$€£¥₹₽₺]|\b(?:eur|usd|gbp|chf) ?\d"
    r"|(?<![\w.,])(?<!\balle )(?<!\bore )\d+(?:[.,]\d{3})*[.,]\d\d\b(?![.,]\d| ?(?:uhr|uur|h)\b)"
    rf"|{_AMOUNT}(?: \w+)? ?(?:percent|%|(?:{any_of(CURRENCIES)})\b)|\b{_SHORT_NUMBERS} euros?\b|\b(?:{_FREE})\b",
    # Not the address 127.0.0.1, nor its port. A whole number only behind "version", with "or later", or in a cell.
    AnswerType.VERSION: r"(?<![\w.:/@-])v?\d+(?:\.\d+){1,2}(?![\w%]|\.\d|:\d)|\b(?:version|release|v\.?) ?\d"
    r"|(?<=[|\t ] )\d+(?= *(?:\||\Z))"
    r"|(?<![\w.])\d+(?:\.\d+)?(?:\+|,? (?:and|or|und|oder|et|ou|y|o|e|of) (?:\w+ )?(?:above|higher|later|newer|up"
    r"|höher|neuer|später|supérieure?|ultérieure?|posterior|superior|successiv|hoger|nieuwer))",
    AnswerType.NUMBER: rf"\d|\b(?:{_NUMBERS})\b|{_SHORT_TIMES}|\b{_SHORT_NUMBERS} euros?\b|\b{_NO_LIMIT}",
    AnswerType.YEAR: r"(?<!\d)(?<!\d[,'’])(?:1[0-9]|20)\d\d(?!\d|[.,]\d)",
    # At least six digits, but no date; or few ones behind a word that says what they are.
    AnswerType.PHONE_NUMBER: r"(?<![\w.,/€$£-])\+?\(?\d(?!\d?[./-]\d\d?[./-]\d{2,4}(?![./-]?\d))"
    r"(?:[ ()/.–-]{0,2}\d){5,14}(?![\w€$£])"
    r"|(?:extension|ext\.?|internal|durchwahl|poste|extensión|interno|call|dial|ring|phone|tel\.?|telephone|fax|notruf"
    r"|telefon|nummer|number|téléphone|numéro|teléfono|número|telefono|numero|telefone|telefoon"
    r"|toestel)\W{1,4}\d[\d ]{1,14}(?!\w)",
    AnswerType.EMAIL_ADDRESS: r"\w@\w|\w ?[(\[](?:at|ät)[)\]] ?\w",
}
