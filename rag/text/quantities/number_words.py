"""The names of the numbers from 0 to 99 in English, German, French and Spanish.

The German, French and Spanish words for one are also articles and are left out, except for "eins".
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


NUMBERS_BY_LANGUAGE = {"english": _english(), "german": _german(), "french": _french(), "spanish": _spanish()}
