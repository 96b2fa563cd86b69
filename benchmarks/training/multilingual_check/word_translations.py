"""English words and words in other languages with the same meaning, found by the multilingual embedding model.

A network that is trained with English pairs, in which some words are replaced by such words, learns that a word and
its translations are alike (Qin et al. 2020). No parallel texts are needed.
"""

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from rag.providers import provider_factory
from rag.providers.base import Vectors

# How many words of the vocabulary are compared, by script. Languages with the Latin one share it.
_MAX_WORDS = {"LATIN": 32_000, "CYRILLIC": 9_000, "ARABIC": 7_000, "CJK": 9_000, "HANGUL": 5_000, "THAI": 3_000}
_CHOSEN_SCRIPTS = ["LATIN"] * 5 + ["CYRILLIC"] * 2 + ["ARABIC"] * 2 + ["CJK"] * 3 + ["HANGUL", "THAI"]
_MAX_ENGLISH_WORDS, _MIN_COUNT = 6_000, 4
_MIN_COSINE, _MAX_LATIN, _MAX_OTHER = 0.72, 6, 3
# A translation is chosen the more often the more similar it is.
_SHARPNESS = 8
_WORD, _LONG_WORD = re.compile(r"[A-Za-z]+"), re.compile(r"[a-z]{3,}")
_SPACE = "▁"
_TEXTS_PER_CALL = 256

# English word → script → words with their cosines.
Translations = dict[str, dict[str, list[tuple[str, float]]]]


def find_translations(texts: Iterable[str], pieces: Sequence[str]) -> Translations:
    """Return the translations of the words that occur most often in the texts, among the pieces of a vocabulary."""
    counts = Counter(word for text in texts for word in _LONG_WORD.findall(text))
    frequent = {word for word, count in counts.items() if count >= _MIN_COUNT}
    english = [word for word, _ in counts.most_common(_MAX_ENGLISH_WORDS) if word in frequent]
    by_script = _foreign_words(pieces, frequent)
    vectors = _embed(english)
    translations: Translations = {word: {} for word in english}
    for script, words in by_script.items():
        similarities = vectors @ _embed(words).T if words else np.zeros((len(english), 0), np.float32)
        limit = _MAX_LATIN if script == "LATIN" else _MAX_OTHER
        for word, row in zip(english, similarities, strict=True):
            best = [(words[index], float(row[index])) for index in np.argsort(-row)[:limit].tolist()]
            similar = [(other, cosine) for other, cosine in best if cosine > _MIN_COSINE]
            if similar:
                translations[word][script] = similar
    return {word: scripts for word, scripts in translations.items() if scripts}


def choose_script(generator: random.Random) -> str:
    """Return a script, more often one in which more languages are written."""
    return generator.choice(_CHOSEN_SCRIPTS)


def replace_words(text: str, translations: Translations, script: str, share: float, generator: random.Random) -> str:
    """Replace this share of the words that have translations in the script by one of them."""

    def replacement(match: re.Match[str]) -> str:
        options = translations.get(match[0].lower(), {}).get(script)
        if not options or generator.random() >= share:
            return match[0]
        (chosen,) = generator.choices([word for word, _ in options], [cosine**_SHARPNESS for _, cosine in options])
        return chosen

    return _WORD.sub(replacement, text)


def _foreign_words(pieces: Sequence[str], english: set[str]) -> dict[str, list[str]]:
    """Return whole words by their script: pieces after a space, and pieces of Chinese characters."""
    by_script: dict[str, list[str]] = {script: [] for script in _MAX_WORDS}
    for piece in pieces:
        word = piece.removeprefix(_SPACE)
        script = unicodedata.name(word[0], "").split(" ")[0].split("-")[0] if word else ""
        is_whole = len(word) > 1 if script == "CJK" else piece != word and len(word) > 2
        is_plain = word.isalpha() and word[1:] == word[1:].lower() and (script == "LATIN" or word == word.lower())
        words = by_script.get(script)
        if words is not None and is_whole and is_plain and word not in english and len(words) < _MAX_WORDS[script]:
            words.append(word)
    return by_script


def _embed(words: Sequence[str]) -> Vectors:
    embedder = provider_factory.multilingual_embedder()
    starts = range(0, len(words), _TEXTS_PER_CALL)
    return np.concatenate([embedder.embed(words[start : start + _TEXTS_PER_CALL]) for start in starts])
