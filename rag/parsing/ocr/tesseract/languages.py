"""The languages that need Tesseract, because the built-in models do not know their scripts."""

import shutil

# Language → its name in Tesseract. Latin letters, Greek, Chinese and Japanese are read by the built-in models.
_NAMES = {
    **{"ru": "rus", "uk": "ukr", "be": "bel", "bg": "bul", "mk": "mkd", "sr": "srp", "kk": "kaz", "ky": "kir"},
    **{"mn": "mon", "tg": "tgk", "tt": "tat", "ar": "ara", "fa": "fas", "ur": "urd", "ps": "pus", "ug": "uig"},
    **{"he": "heb", "yi": "yid", "hi": "hin", "mr": "mar", "ne": "nep", "sa": "san", "bn": "ben", "ta": "tam"},
    **{"te": "tel", "kn": "kan", "ml": "mal", "gu": "guj", "pa": "pan", "si": "sin", "th": "tha", "lo": "lao"},
    **{"km": "khm", "my": "mya", "ka": "kat", "hy": "hye", "am": "amh", "ko": "kor", "bo": "bod"},
}


def find_program() -> str:
    """Return the path of Tesseract; empty if it is not installed."""
    return shutil.which("tesseract") or ""


def reads_language(lang: str, languages: str) -> bool:
    """Return whether Tesseract reads a language that the built-in models do not know.

    Args:
        lang: An ISO 639-1 code, perhaps with a region: `ru`, `ar-EG`. Empty if the language is not known.
        languages: The languages of Tesseract, such as `rus+ara`.
    """
    name = _NAMES.get(lang.lower().replace("_", "-").partition("-")[0])
    return name is not None and name in languages.split("+")
