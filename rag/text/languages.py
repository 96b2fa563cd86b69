"""Detects languages, and maps them to the names that PostgreSQL and Snowball use.

A document stores its language as the client wrote it ("de", "de-AT", "deu", "German"). It is interpreted here.
"""

import functools
import importlib.metadata
import re
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from django.conf import settings

from rag.text.sentences.unspaced_scripts import UNSPACED_RUN
from rag.types import DocumentText
from ragsite.cache.prepared_folders import prepared_folder

from .function_words import FUNCTION_WORDS

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# The name in PostgreSQL and Snowball, then the codes of ISO 639 with two and with three letters.
_NAMES = """
arabic ar ara          armenian hy hye arm    basque eu eus baq      catalan ca cat         czech cs ces cze
danish da dan          dutch nl nld dut       english en eng         esperanto eo epo       estonian et est
finnish fi fin         french fr fra fre      german de deu ger      greek el ell gre       hindi hi hin
hungarian hu hun       indonesian id ind      irish ga gle           italian it ita         lithuanian lt lit
nepali ne nep          norwegian no nb nn nor nob nno                persian fa fas per     polish pl pol
portuguese pt por      romanian ro ron rum    russian ru rus         serbian sr srp         sesotho st sot
spanish es spa         swedish sv swe         tamil ta tam           turkish tr tur         yiddish yi yid
"""
_ONLY_IN_SNOWBALL = frozenset({"czech", "esperanto", "persian", "polish", "sesotho"})
# Names of languages without an algorithm for stems.
_OTHER_NAMES = {"ja": "japanese", "ko": "korean", "th": "thai", "zh": "chinese"}
# Longer words are names of languages.
_MAX_CODE_LETTERS = 3

# Length of the three samples by which a long text is classified.
_SAMPLE_CHARACTERS = 700
# Below this the model guesses: its probability is about its share of correct answers.
_MIN_PROBABILITY = 0.6
# English prose has a function word for about every 14 characters. Code, and text that is English in part, has fewer, or
# the same few again and again. What of them other languages use, too, counts as English only.
_ENGLISH = FUNCTION_WORDS["english"]
_NOT_ENGLISH = frozenset().union(*FUNCTION_WORDS.values()) - _ENGLISH
_MAX_CHARACTERS_PER_ENGLISH_WORD, _MIN_DISTINCT_ENGLISH_WORDS, _MIN_ENGLISH_PER_OTHER_WORD = 20, 10, 6
# What py3langid's model consists of, in the order of its `load_model`.
_TABLES = ("ptc", "pc", "classes", "nextmove", "nextmove_row", "output")
# The first requests of a process come at the same time. `functools.cache` would load the model once for each of them.
_loading = threading.Lock()
_CODE_BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_NOT_A_WORD = re.compile(r"[\d@_/\\=<>{}|~^$#`+]")
_ISO_639_1 = re.compile(r"[a-z]{2}")
_LETTER = re.compile(r"[^\W\d_]")
# Scripts of one language. Chinese texts have a few Kana in names.
_SCRIPTS = {
    "ja": re.compile("[\u3041-\u30fa\uff66-\uff9d]"),
    "ko": re.compile("[\uac00-\ud7a3]"),
    "th": re.compile("[\u0e01-\u0e4e]"),
}
_MIN_SHARE_OF_SCRIPT = 0.1


def detect_language(text: DocumentText) -> str:
    """Detect the language of a text.

    Takes at most about a millisecond for any length, a tenth of that for most English texts, which are recognised
    without the model. The very first call of it on a machine prepares the model: a second.

    Returns:
        A code of ISO 639-1; empty if the text is too short or too mixed.
    """
    sample = _sample(text)
    if lang := _language_of_script(sample):
        return lang
    words = _words(sample)
    if not words:
        return ""
    if _is_english_prose(words):
        return "en"
    code, probability = identifier().classify(words)
    return code if probability >= _MIN_PROBABILITY and _ISO_639_1.fullmatch(code) else ""


def compare_languages(text: str, codes: Sequence[str]) -> dict[str, float]:
    """Compare how probable some languages are for a short text, such as the words that somebody searches for.

    The model knows 97 languages. Three words are often not enough to tell one from all that resemble it, but enough to
    choose among those that are expected.

    Args:
        text: The text.
        codes: The expected languages, as codes of ISO 639-1 that the model knows.

    Returns:
        The probability of each of `codes` if the text is in one of them; nothing if the text has no words.
    """
    words = _words(_sample(text))
    if not words:
        return {}
    probabilities = dict(identifier().rank(words))
    total = sum(probabilities[code] for code in codes) or 1.0
    return {code: probabilities[code] / total for code in codes}


def text_search_config(lang: str) -> str:
    """Return PostgreSQL's text search configuration for a document's language; "simple" if it does not exist."""
    name = _name(lang)
    return "simple" if not name or name in _ONLY_IN_SNOWBALL else name


@functools.lru_cache(maxsize=1_000)  # it is asked for each text and word
def snowball_algorithm(lang: str) -> str:
    """Return Snowball's algorithm for a document's language; empty if it does not exist."""
    return _name(lang)


def language_name(lang: str) -> str:
    """Return the English name of a document's language in small letters; empty if it is unknown."""
    return _name(lang) or _OTHER_NAMES.get(lang.strip().lower()[:2], "")


def _language_of_script(text: str) -> str:
    """Return the language of a text whose script has only one; empty for other texts."""
    if text.isascii():
        return ""
    counts = {lang: len(letter.findall(text)) for lang, letter in _SCRIPTS.items()}
    lang = max(counts, key=lambda lang: counts[lang])
    return lang if counts[lang] and counts[lang] >= _MIN_SHARE_OF_SCRIPT * len(_LETTER.findall(text)) else ""


def _is_english_prose(words: str) -> bool:
    """Return whether many function words are English and few those of other languages. Short texts are not judged."""
    split_words = words.lower().split()
    english = sum(map(_ENGLISH.__contains__, split_words))
    return (
        english * _MAX_CHARACTERS_PER_ENGLISH_WORD >= len(words)
        and sum(map(_NOT_ENGLISH.__contains__, split_words)) * _MIN_ENGLISH_PER_OTHER_WORD <= english
        and len(_ENGLISH.intersection(split_words)) >= _MIN_DISTINCT_ENGLISH_WORDS
    )


def _words(text: str) -> str:
    """Return the words of a text, without code, numbers and addresses.

    Where words have no spaces between them, a number is beside them: "2026年".
    """
    words = []
    for word in _CODE_BLOCK.sub("", text).split():
        if not _NOT_A_WORD.search(word):
            words.append(word)
        elif not word.isascii():
            words += UNSPACED_RUN.findall(word)
    # JSON can contain lone surrogates, which cannot be encoded.
    return " ".join(words).encode(errors="ignore").decode()


def _sample(text: DocumentText) -> str:
    """Return the text, or parts of a long one from its beginning, its middle and its last quarter."""
    if isinstance(text, str) and len(text) <= 3 * _SAMPLE_CHARACTERS:
        return text
    return "\n".join(text[start : start + _SAMPLE_CHARACTERS] for start in (0, len(text) // 2, len(text) * 3 // 4))


def _name(lang: str) -> str:
    """Look up a language. Subtags for region and script ("de-AT") are ignored: stemming does not depend on them."""
    written = lang.strip().lower()
    code = re.split("[-_]", written, maxsplit=1)[0]
    return _names_by_code().get(written if len(code) > _MAX_CODE_LETTERS else code, "")


@functools.cache
def _names_by_code() -> dict[str, str]:
    """Return code → name of the language, for each code of a language and for its name as well."""
    names, name = {}, ""
    for word in _NAMES.split():
        name = word if len(word) > _MAX_CODE_LETTERS else name
        names[word] = name
    return names


def identifier() -> "LanguageIdentifier":
    """Return the model, which the first call loads."""
    with _loading:
        return load_identifier()


@functools.cache
def load_identifier() -> "LanguageIdentifier":
    """Map the model's tables from files, 68 MB: a short text needs few of their pages, and processes share them."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    name = f"py3langid.{importlib.metadata.version('py3langid')}"
    try:
        folder = prepared_folder(settings.RAG_MODEL_CACHE_FOLDER, name, _write_tables, replaces=("py3langid.*",))
    except OSError:  # the folder cannot be written: then each process has its own tables
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    ptc, pc, classes, moves, rows, output = (np.load(folder / f"{table}.npy", mmap_mode="r") for table in _TABLES)
    # A memoryview gives single numbers as fast as a list does, an array of numpy would not. Each result of a memmap is
    # a memmap as well, which takes a tenth of the time, so the weights are given as plain arrays of the same memory.
    weights = (np.asarray(ptc), np.asarray(pc), classes.tolist())
    return LanguageIdentifier(*weights, memoryview(moves), memoryview(output), norm_probs=True, tk_row=memoryview(rows))


def _write_tables(folder: Path) -> None:
    from py3langid.langid import MODEL_DIR, MODEL_FILE
    from py3langid.modelio import load_model

    for table, values in zip(_TABLES, load_model(MODEL_DIR / MODEL_FILE), strict=True):
        np.save(folder / f"{table}.npy", np.asarray(values))
