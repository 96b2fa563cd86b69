"""The language of a question: whether it is English, which selects the embedding model, and which one it is."""

import functools
import re
from collections import Counter
from collections.abc import Iterable, Sequence

from .function_words import FUNCTION_WORDS
from .languages import compare_languages, detect_language, language_name, snowball_algorithm
from .sentences.unspaced_scripts import is_mostly_unspaced

# The languages, besides English, that the multilingual embedding model was trained on (ISO 639-1).
FOREIGN_LANGUAGES = ("ar", "de", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh")
_MODEL_LANGUAGES = ("en", *FOREIGN_LANGUAGES)
# Words are not English if their language, one of these, is English with at most this probability: so it is for 2 % of
# two to four words of English texts, for 71 to 91 % of three words of German, French and Spanish ones. It is lower for
# what may be a name: a single word ("Kubernetes" has 0.03), or words with capital letters.
_MAX_SHARE_OF_ENGLISH, _MAX_SHARE_IN_NAMES, _MAX_SHARE_IN_ONE_WORD = 0.05, 0.02, 0.01
# A single function word, which may be part of a name ("Los Angeles") or another word ("end date"), is weak evidence:
# 93 to 100 % of two to four words with one, if they are not English, have at most the first share, and 24 to 41 % of
# English ones.
_MAX_SHARE_WITH_FUNCTION_WORD, _MAX_SHARE_OF_FOREIGN = 0.2, 0.05
_MIN_SHARE_OF_LIKELIEST = 0.5
# Not the letters of identifiers such as "n8n", "USB-C" and "C#", nor single ones of "e-mail" and "Anna's": elsewhere
# they are function words.
_WORD = re.compile(r"(?<![\w#+])[^\W\d_]+(?!\w)(?<!\b\w(?=[-#+/]))(?<![-#+/'’]\w(?!\w))")
_LETTER = re.compile(r"[^\W\d_]")
# Not the Cyrillic and Arabic letters that other languages have: і, ї, є, ў, ј, љ, њ; پ, چ, گ, ی, ک, ٹ, ڑ, ے.
_MAIN_LANGUAGES = {
    "russian": re.compile(r"\A(?!.*[іїєґўђјљњћџѓќ])(?=.*[а-яё])", re.IGNORECASE | re.DOTALL),
    "arabic": re.compile(r"\A(?!.*[پچژگیکٹڈڑےھہ])(?=.*[ء-ي])", re.DOTALL),
}
_HAN = re.compile(r"[\u3400-\u9fff]+")
# Each function word → the languages that have it.
_LANGUAGES_BY_WORD = {
    word: [name for name, listed in FUNCTION_WORDS.items() if word in listed]
    for word in frozenset[str]().union(*FUNCTION_WORDS.values())
}


@functools.lru_cache(maxsize=64)  # each question is examined about ten times
def is_english(question: str) -> bool:
    """Return whether a question is to be treated as English.

    Function words decide where they can, because that needs no model. Otherwise a question counts as English unless
    another of the languages is far more probable: names and identifiers are in no language.
    """
    has_english_words = _has_english_words(question)
    if has_english_words is not None:
        return has_english_words
    words = [word for word in question.split() if _LETTER.search(word) and not word.isupper()]
    if not words:  # abbreviations
        return True
    if _has_foreign_word(question):
        maximum = _MAX_SHARE_WITH_FUNCTION_WORD
    elif len(words) == 1:
        maximum = _MAX_SHARE_IN_ONE_WORD
    else:
        maximum = _MAX_SHARE_IN_NAMES if any(word[0].isupper() for word in words) else _MAX_SHARE_OF_ENGLISH
    return _share_of_english(words) > maximum


def has_foreign_words(question: str) -> bool:
    """Return whether function words or letters show that a question is not English, not only a likely language."""
    has_english_words = _has_english_words(question)
    if has_english_words is None and _has_foreign_word(question):
        return _share_of_english(question.split()) <= _MAX_SHARE_OF_FOREIGN
    return has_english_words is False


def name_language(question: str) -> str:
    """Return the language of a question by its name in English, such as "german"; empty if it is unclear.

    Function words decide if one language has most of them. Otherwise the language is detected; if it is not clear, the
    likeliest of those that have most of them, or of those of the multilingual model if there are none.
    """
    counts = _count_by_language(_find_words(question))
    highest = max(counts.values())
    best = [name for name, count in counts.items() if count == highest]
    if highest and len(best) == 1:
        return best[0]
    codes = [code for code in _MODEL_LANGUAGES if highest and snowball_algorithm(code) in best]
    code = detect_language(question) or _likeliest_language(question, codes or _MODEL_LANGUAGES)
    if code in ("zh", "") and (han := "".join(_HAN.findall(question))):
        return "japanese" if _is_only_japanese(han) else "chinese"
    return language_name(code) or _main_language_of_script(question)


def query_language(text: str, langs: Sequence[str]) -> str:
    """Return the language of a question about documents, or of an answer from them.

    Args:
        text: The question or answer.
        langs: The languages of the documents. If all are English or unknown, the language is not detected.

    Returns:
        The detected language, or else the likeliest or most frequent one of `langs` that is not English; empty for
        English, even if only the function words show it, because the language of a short text is often not detected.
    """
    other_langs = Counter(lang for lang in langs if (snowball_algorithm(lang) or "english") != "english")
    if not other_langs:
        return ""
    if _has_english_words(text):
        return ""
    known = list(other_langs) if all(map(is_foreign, other_langs)) else []
    return detect_language(text) or _likeliest_language(text, known) or other_langs.most_common(1)[0][0]


def foreign_function_words(question: str) -> frozenset[str]:
    """Return the function words of the question's language if it is clear and not English; otherwise none.

    English texts contain such words in names ("de la Cruz"), where they are rare and would weigh too much.
    """
    words = _find_words(question)
    counts = _count_by_language(words)
    language = max(counts, key=lambda name: counts[name])
    # A single one may be a name: "io", "die".
    is_clear = counts[language] >= counts["english"] + 2
    return FUNCTION_WORDS[language] if is_clear else frozenset()


def is_foreign(lang: str) -> bool:
    """Return whether a document's language is one of FOREIGN_LANGUAGES."""
    return lang in FOREIGN_LANGUAGES


def _main_language_of_script(question: str) -> str:
    """Return the name of the language of the multilingual model that is written like the question; empty if unclear."""
    return next((name for name, letters in _MAIN_LANGUAGES.items() if letters.search(question)), "")


def _is_only_japanese(han: str) -> bool:
    """Return whether some Chinese characters are Japanese ones, which Chinese does not have, simplified or not."""
    return _is_encodable(han, "shift_jis") and not (_is_encodable(han, "gb2312") or _is_encodable(han, "big5"))


def _is_encodable(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _likeliest_language(text: str, codes: Sequence[str]) -> str:
    """Return the code of the most probable language; empty if none is as probable as all others together."""
    shares = compare_languages(text, codes)
    code = max(shares, key=lambda code: shares[code], default="")
    return code if code and shares[code] >= _MIN_SHARE_OF_LIKELIEST else ""


def _share_of_english(words: Sequence[str]) -> float:
    """Return how probable English is among the languages of the model, 0…1; 1 if there is nothing to judge."""
    return compare_languages(" ".join(words), _MODEL_LANGUAGES).get("en", 1.0)


def _find_words(text: str) -> list[str]:
    """Return the words of a text in lower case.

    Abbreviations ("MIT license", "vitamin C") are left out, except at the beginning if they are a single letter.
    """
    is_upper = text.isupper()
    return [
        match[0].lower()
        for match in _WORD.finditer(text)
        if is_upper or not match[0].isupper() or (len(match[0]) == 1 and match.start() < 2)
    ]


def _has_english_words(text: str) -> bool | None:
    """Return whether the letters and function words of a text are English; None if they do not show it."""
    if is_mostly_unspaced(text):
        return False
    words = _find_words(text)
    letters = "".join(words)
    if sum(not character.isascii() for character in letters) > len(letters) / 2:
        return False
    counts = _count_by_language(words)
    english = counts.pop("english")
    others = max(counts.values())
    is_unclear = english == others or (not english and others == 1 and letters.isascii())
    return None if is_unclear else english > others


def _has_foreign_word(text: str) -> bool:
    """Return whether a text has a function word of another language, and none that is English."""
    counts = _count_by_language(_find_words(text))
    return not counts["english"] and any(counts.values())


def _count_by_language(words: Iterable[str]) -> dict[str, int]:
    """Count the function words of each language."""
    counts = dict.fromkeys(FUNCTION_WORDS, 0)
    for word in words:
        for name in _LANGUAGES_BY_WORD.get(word, ()):
            counts[name] += 1
    return counts
