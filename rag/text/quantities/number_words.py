"""The names of the numbers from 0 to 99 in English, German, French, Spanish, Italian, Portuguese and Dutch.

Except in English, the words for one are also articles and are left out, but for "eins" and "één".
"""

from .quantity_words import ENGLISH_NUMBERS

_ENGLISH_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_GERMAN = [
    "null",
    "eins",
    "zwei",
    "drei",
    "vier",
    "fünf",
    "sechs",
    "sieben",
    "acht",
    "neun",
    "zehn",
    "elf",
    "zwölf",
    "dreizehn",
    "vierzehn",
    "fünfzehn",
    "sechzehn",
    "siebzehn",
    "achtzehn",
    "neunzehn",
]
_GERMAN_TENS = ["zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"]
_FRENCH = [
    "zéro",
    "un",
    "deux",
    "trois",
    "quatre",
    "cinq",
    "six",
    "sept",
    "huit",
    "neuf",
    "dix",
    "onze",
    "douze",
    "treize",
    "quatorze",
    "quinze",
    "seize",
    "dix-sept",
    "dix-huit",
    "dix-neuf",
]
# Seventy is sixty and ten, ninety is eighty and ten.
_FRENCH_TENS = ["vingt", "trente", "quarante", "cinquante", "soixante", "soixante", "quatre-vingt", "quatre-vingt"]
_SPANISH = [
    "cero",
    "uno",
    "dos",
    "tres",
    "cuatro",
    "cinco",
    "seis",
    "siete",
    "ocho",
    "nueve",
    "diez",
    "once",
    "doce",
    "trece",
    "catorce",
    "quince",
    "dieciséis",
    "diecisiete",
    "dieciocho",
    "diecinueve",
    "veinte",
    "veintiuno",
    "veintidós",
    "veintitrés",
    "veinticuatro",
    "veinticinco",
    "veintiséis",
    "veintisiete",
    "veintiocho",
    "veintinueve",
]
_SPANISH_TENS = ["treinta", "cuarenta", "cincuenta", "sesenta", "setenta", "ochenta", "noventa"]


def _names(text: str) -> list[str]:
    return text.split()


_ITALIAN = _names(
    "zero uno due tre quattro cinque sei sette otto nove dieci undici dodici tredici quattordici quindici sedici "
    "diciassette diciotto diciannove"
)
_ITALIAN_TENS = _names("venti trenta quaranta cinquanta sessanta settanta ottanta novanta")
_PORTUGUESE = _names(
    "zero um dois três quatro cinco seis sete oito nove dez onze doze treze catorze quinze dezasseis dezassete dezoito "
    "dezanove"
)
_BRAZILIAN = {"quatorze": 14, "dezesseis": 16, "dezessete": 17, "dezenove": 19}
_PORTUGUESE_TENS = _names("vinte trinta quarenta cinquenta sessenta setenta oitenta noventa")
_DUTCH = _names(
    "nul één twee drie vier vijf zes zeven acht negen tien elf twaalf dertien veertien vijftien zestien zeventien "
    "achttien negentien"
)
_DUTCH_TENS = _names("twintig dertig veertig vijftig zestig zeventig tachtig negentig")


def _english() -> dict[str, int]:
    numbers = {name: value for value, name in enumerate(ENGLISH_NUMBERS)}
    for tens, name in enumerate(_ENGLISH_TENS, start=2):
        numbers[name] = tens * 10
        numbers |= {f"{name}-{ENGLISH_NUMBERS[unit]}": tens * 10 + unit for unit in range(1, 10)}
    return numbers


def _german() -> dict[str, int]:
    numbers = {name: value for value, name in enumerate(_GERMAN)}
    for tens, name in enumerate(_GERMAN_TENS, start=2):
        units = ["", "ein", *_GERMAN[2:10]]
        numbers |= {f"{units[unit]}und{name}": tens * 10 + unit for unit in range(1, 10)} | {name: tens * 10}
    swiss = {name.replace("ß", "ss"): value for name, value in numbers.items()}
    return numbers | swiss


def _french() -> dict[str, int]:
    numbers = {name: value for value, name in enumerate(_FRENCH) if value != 1}
    for tens, name in enumerate(_FRENCH_TENS, start=2):
        has_teens = tens in (7, 9)
        if not has_teens:
            numbers[name] = tens * 10
        units = _FRENCH[10:20] if has_teens else _FRENCH[:10]
        numbers |= {f"{name}-{unit}": tens * 10 + value for value, unit in enumerate(units) if has_teens or value}
        if not has_teens:
            numbers[f"{name}-une"] = tens * 10 + 1
    return numbers | {"quatre-vingts": 80}


def _spanish() -> dict[str, int]:
    numbers = {name: value for value, name in enumerate(_SPANISH) if value != 1}
    for tens, name in enumerate(_SPANISH_TENS, start=3):
        numbers[name] = tens * 10
        numbers |= {f"{name}-{_SPANISH[unit]}": tens * 10 + unit for unit in range(1, 10)}
    return numbers


def _italian() -> dict[str, int]:
    numbers = {name: value for value, name in enumerate(_ITALIAN) if value != 1}
    for tens, name in enumerate(_ITALIAN_TENS, start=2):
        numbers[name] = tens * 10
        for value, unit in enumerate(_ITALIAN[1:10], start=1):  # ventuno, ventidue, ventitré, ventotto
            numbers[f"{name[:-1] if unit[0] in 'uo' else name}{unit}"] = tens * 10 + value
        numbers[f"{name}tré"] = tens * 10 + 3
    return numbers


def _portuguese() -> dict[str, int]:
    numbers = {name: value for value, name in enumerate(_PORTUGUESE) if value != 1} | {"duas": 2} | _BRAZILIAN
    for tens, name in enumerate(_PORTUGUESE_TENS, start=2):
        numbers[name] = tens * 10
        units = {unit: value for value, unit in enumerate(_PORTUGUESE[1:10], start=1)} | {"uma": 1, "duas": 2}
        numbers |= {f"{name}-{unit}": tens * 10 + value for unit, value in units.items()}
    return numbers


def _dutch() -> dict[str, int]:
    numbers = {name: value for value, name in enumerate(_DUTCH)}
    for tens, name in enumerate(_DUTCH_TENS, start=2):
        numbers[name] = tens * 10
        for value, unit in enumerate(["een", *_DUTCH[2:10]], start=1):  # eenentwintig, tweeëntwintig
            numbers[f"{unit}{'ën' if unit in ('twee', 'drie') else 'en'}{name}"] = tens * 10 + value
    return numbers


NUMBERS_BY_LANGUAGE = {
    "english": _english(),
    "german": _german(),
    "french": _french(),
    "spanish": _spanish(),
    "italian": _italian(),
    "portuguese": _portuguese(),
    "dutch": _dutch(),
}
