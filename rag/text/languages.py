"""Languages: which one a text is in, and what PostgreSQL and Snowball call it.

The language of a document stays as a client wrote it ("de", "de-AT", "deu", "German"); it is read here.
"""

import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

# As PostgreSQL and Snowball name each language that either has, then the codes of ISO 639: two letters, three letters.
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
# What stands for a language beside its name and codes has at most three letters.
_LONGEST_CODE = 3

# Characters of each part of a long text that is looked at: its beginning, and two from further on.
_SAMPLE = 700
# Below this the model is guessing: measured, its probability is about its share of right answers.
_SURE = 0.6
_CODE_BLOCK = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_NO_WORD = re.compile(r"[\d@_/\\=<>{}|~^$#`+]")
_ISO_639_1 = re.compile(r"[a-z]{2}")


def detect_language(text: str) -> str:
    """The language of a text by ISO 639-1, "" if it is too short or too mixed to be sure.

    Needs no network. Takes about a millisecond however long the text is, and the first time in a process most of a
    second and 80 MB.
    """
    words = [word for word in _CODE_BLOCK.sub("", _sample(text)).split() if not _NO_WORD.search(word)]
    if not words:
        return ""
    # Its probabilities count on the shape of sentences: half a character, which JSON can write, is not part of any.
    found, probability = _model().classify(" ".join(words).encode(errors="ignore").decode())
    return found if probability >= _SURE and _ISO_639_1.fullmatch(found) else ""


def text_search_config(lang: str) -> str:
    """PostgreSQL's text search configuration for a document's language: "simple" where it has none."""
    name = _name(lang)
    return "simple" if not name or name in _ONLY_IN_SNOWBALL else name


def snowball_algorithm(lang: str) -> str:
    """Snowball's algorithm for a document's language, "" where it has none."""
    return _name(lang)


def _sample(text: str) -> str:
    if len(text) <= 3 * _SAMPLE:
        return text
    return "\n".join(text[start : start + _SAMPLE] for start in (0, len(text) // 2, len(text) * 3 // 4))


def _name(lang: str) -> str:
    """The subtags of a code tell regions and scripts apart, which stemming does not."""
    written = lang.strip().lower()
    code = re.split("[-_]", written, maxsplit=1)[0]
    return _by_code().get(written if len(code) > _LONGEST_CODE else code, "")


@functools.cache
def _by_code() -> dict[str, str]:
    found, name = {}, ""
    for word in _NAMES.split():
        name = word if len(word) > _LONGEST_CODE else name
        found[word] = name
    return found


@functools.cache
def _model() -> "LanguageIdentifier":
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # reads 40 MB of tables

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
