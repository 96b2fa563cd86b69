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


def languages_of_document(lang: str, languages: str) -> str:
    """Return the languages in which Tesseract reads a document: its own one, and those whose letters it may quote.

    Other scripts would only be mistaken for its own.

    Args:
        lang: An ISO 639-1 code, perhaps with a region: `ru`, `ar-EG`. Empty if the language is not known.
        languages: The languages of Tesseract, such as `rus+ara+eng`.

    Returns:
        For example `rus+eng`; empty if the built-in models know the document's script, or Tesseract lacks its language.
    """
    name = _NAMES.get(lang.lower().replace("_", "-").partition("-")[0])
    names = languages.split("+")
    if name not in names:
        return ""
    return "+".join([name, *(other for other in names if other not in _NAMES.values())])
