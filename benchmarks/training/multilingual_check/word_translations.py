"""English words and words in other languages with the same meaning.

A network that is trained with English pairs, in which some words are replaced by such words, learns that a word and
its translations are alike (Qin et al. 2020). Question words and function words are in `question_words.json`. Others
are those that occur together in sentences and their translations, and those with similar vectors by the multilingual
embedding model.
"""

import functools
import json
import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.training.multilingual_check.parallel_texts import LANGUAGES, UNSPACED, ParallelTexts
from rag.providers import provider_factory
from rag.providers.base import Vectors

# How many words of the vocabulary are compared, by script. Languages with the Latin one share it.
_MAX_WORDS = {"LATIN": 32_000, "CYRILLIC": 9_000, "ARABIC": 7_000, "CJK": 9_000, "HANGUL": 5_000, "THAI": 3_000}
_SCRIPTS = {
    "ar": "ARABIC",
    "fa": "ARABIC",
    "ja": "CJK",
    "ko": "HANGUL",
    "ru": "CYRILLIC",
    "uk": "CYRILLIC",
    "zh": "CJK",
}
# The vectors know no words of Hebrew.
_WITHOUT_VECTORS = "he"
_MAX_ENGLISH_WORDS, _MIN_COUNT = 6_000, 4
_MIN_COSINE, _MAX_LATIN, _MAX_OTHER = 0.72, 6, 3
# A translation is chosen the more often the more similar it is.
_SHARPNESS = 8
# Words that occur together in at least three pairs, by Dice's coefficient (1945), for the first 25,000 pairs.
_MIN_TOGETHER, _MIN_DICE, _MAX_ASSOCIATED, _MIN_OF_BEST, _MAX_PAIRS = 3, 0.4, 3, 0.75, 25_000
_ASSOCIATED_SHARPNESS, _SHARE_ASSOCIATED = 4, 0.6
# A longer word without spaces around it is more probably a whole one.
_LONGER, _MAX_WORD = 0.02, 4
# From this share of replaced words on, articles are left out in languages without them.
_NEARLY_ALL, _ARTICLES = 0.8, {"a", "an", "the"}
_WORD, _LONG_WORD = re.compile(r"[A-Za-z]+"), re.compile(r"[a-z]{3,}")
_ENGLISH_WORD, _OTHER_WORD = re.compile(r"[a-z']{3,}"), re.compile(r"[^\W\d_]{2,}")
_UNSPACED_RUN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]+")
_SPACE_WITHIN = re.compile(r"(?<=[\u3040-\u30ff\u3400-\u9fff]) (?=[\u3040-\u30ff\u3400-\u9fff])")
_SPACE = "▁"
_TEXTS_PER_CALL = 256

Words = list[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Translations:
    """Words for English ones, with how similar they are.

    Attributes:
        by_script: Of any language with a script, by the English word and the script.
        by_language: Those that occur together, by the language and the English word.
    """

    by_script: dict[str, dict[str, Words]]
    by_language: dict[str, dict[str, Words]]


def find_translations(texts: Iterable[str], pieces: Sequence[str], parallel: ParallelTexts) -> Translations:
    """Return translations of the most frequent words of the texts, and of those of the parallel texts.

    Those by vectors are among the pieces of a vocabulary.
    """
    counts = Counter(word for text in texts for word in _LONG_WORD.findall(text))
    frequent = {word for word, count in counts.items() if count >= _MIN_COUNT}
    english = [word for word, _ in counts.most_common(_MAX_ENGLISH_WORDS) if word in frequent]
    by_script = _foreign_words(pieces, frequent)
    vectors = _embed(english)
    translations: dict[str, dict[str, Words]] = {word: {} for word in english}
    for script, words in by_script.items():
        similarities = vectors @ _embed(words).T if words else np.zeros((len(english), 0), np.float32)
        limit = _MAX_LATIN if script == "LATIN" else _MAX_OTHER
        for word, row in zip(english, similarities, strict=True):
            best = [(words[index], float(row[index])) for index in np.argsort(-row)[:limit].tolist()]
            similar = [(other, cosine) for other, cosine in best if cosine > _MIN_COSINE]
            if similar:
                translations[word][script] = similar
    return Translations(translations, {lang: find_associated_words(parallel.pairs(lang), lang) for lang in LANGUAGES})


def find_associated_words(pairs: Sequence[tuple[str, str]], lang: str) -> dict[str, Words]:
    """Return the words that occur in the translations of the sentences with an English word, and hardly elsewhere."""
    english_counts: Counter[str] = Counter()
    other_counts: Counter[str] = Counter()
    together: dict[str, Counter[str]] = defaultdict(Counter)
    for english, other in pairs[:_MAX_PAIRS]:
        words, others = set(_ENGLISH_WORD.findall(english.lower())), _words(other, lang)
        english_counts.update(words)
        other_counts.update(others)
        for word in words:
            together[word].update(others)
    associated: dict[str, Words] = {}
    for word, counts in together.items():
        scored = [
            (other, dice + _LONGER * len(other) * (lang in UNSPACED))
            for other, count in counts.items()
            if count >= _MIN_TOGETHER and (dice := 2 * count / (english_counts[word] + other_counts[other])) > _MIN_DICE
        ]
        best = sorted(scored, key=lambda item: -item[1])[:_MAX_ASSOCIATED]
        if best:
            associated[word] = [(other, score) for other, score in best if score > _MIN_OF_BEST * best[0][1]]
    return associated


def replace_words(text: str, translations: Translations, lang: str, share: float, generator: random.Random) -> str:
    """Replace this share of the words that have translations by one of them. The order of the words stays."""
    known, pattern = _question_words(lang)
    script, associated = _SCRIPTS.get(lang, "LATIN"), translations.by_language.get(lang, {})

    def replacement(match: re.Match[str]) -> str:
        word = match[0].lower()
        if word in known and generator.random() < share:
            return generator.choice(known[word])
        if share >= _NEARLY_ALL and word in _ARTICLES and word not in known:
            return ""
        if generator.random() > share:
            return match[0]
        options = associated.get(word, [])
        by_vectors = [] if lang == _WITHOUT_VECTORS else translations.by_script.get(word, {}).get(script, [])
        sharpness = _ASSOCIATED_SHARPNESS
        if not options or (script != "LATIN" and generator.random() >= _SHARE_ASSOCIATED):
            options, sharpness = by_vectors, _SHARPNESS
        if not options:
            return match[0]
        (chosen,) = generator.choices([other for other, _ in options], [score**sharpness for _, score in options])
        return chosen.capitalize() if match[0][0].isupper() and script == "LATIN" else chosen

    return _punctuate(" ".join(pattern.sub(replacement, text).split(" ")), lang)


@functools.cache
def _question_words(lang: str) -> tuple[dict[str, list[str]], re.Pattern[str]]:
    """Return phrases and words with their translations, and the pattern of these phrases and of single words."""
    known = json.loads(Path(__file__).with_name("question_words.json").read_text()).get(lang, {})
    phrases = sorted((phrase for phrase in known if " " in phrase), key=len, reverse=True)
    return known, re.compile("|".join([*phrases, _WORD.pattern]), re.IGNORECASE)


def _punctuate(text: str, lang: str) -> str:
    text = re.sub(" {2,}", " ", text).strip()
    if lang in UNSPACED:
        return _SPACE_WITHIN.sub("", text).replace("?", "？").replace(". ", "。")
    return text.replace("?", "؟").replace(", ", "، ") if lang == "ar" else text


def _words(text: str, lang: str) -> set[str]:
    if lang not in UNSPACED:
        return set(_OTHER_WORD.findall(text.lower()))
    return {
        run[start : start + size]
        for run in _UNSPACED_RUN.findall(text)
        for size in range(1, _MAX_WORD + 1)
        for start in range(len(run) - size + 1)
    }


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
