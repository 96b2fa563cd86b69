"""Sentences with their translations: a sentence of one language asks for the text of another one that contains it.

Three kinds of sources are read:
- NTREX-128 (Federmann et al. 2022, CC BY-SA 4.0): 123 news articles in 128 languages, line by line;
- Tatoeba's sentences in the form of LASER (Artetxe and Schwenk 2019, CC BY 2.0 FR): `tatoeba.deu-eng.deu` and `….eng`;
- messages of programs, as pairs of JSON files with the same keys: those of Home Assistant (Apache-2.0) are used.
"""

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeGuard

from benchmarks.training.multilingual_check.groups import Group

# How often a language is drawn, with its codes in NTREX and in Tatoeba.
LANGUAGES: dict[str, tuple[int, str, str]] = {
    "ar": (20, "arb", "ara"), "zh": (16, "zho-CN", "cmn"), "de": (9, "deu", "deu"), "es": (8, "spa", "spa"),
    "fr": (7, "fra", "fra"), "ru": (7, "rus", "rus"), "ja": (7, "jpn", "jpn"), "ko": (4, "kor", "kor"),
    "it": (4, "ita", "ita"), "pt": (4, "por", "por"), "nl": (4, "nld", "nld"), "tr": (3, "tur", "tur"),
    "pl": (3, "pol", "pol"), "vi": (2, "vie", "vie"), "sv": (2, "swe", "swe"), "cs": (2, "ces", "ces"),
    "fa": (2, "fas", "pes"), "uk": (1, "ukr", "ukr"), "he": (1, "heb", "heb"),
}  # fmt: skip
UNSPACED = frozenset({"zh", "ja"})
_ENGLISH = "en"
_MIN_SENTENCES = 5
_SENTENCES_PER_TEXT = (1, 2, 2, 3)
_WRONG_TEXTS = 2
_MIN_CHARACTERS, _MAX_CHARACTERS = 12, 400
# A message with marks of a program is no sentence.
_MARKS = re.compile(r"[{}<>\[\]]|https?:|[a-z]_[a-z]")
# How often articles are drawn, and Tatoeba's sentences among the others.
_SHARE_ARTICLES, _SHARE_SENTENCES = 0.6, 0.3
# How often a question is in English, how often its texts are, and how often the question is a part of a sentence.
_SHARE_FROM_ENGLISH, _SHARE_TO_ENGLISH, _SHARE_PARTS = 0.4, 0.4, 0.55
_PART_WORDS, _PART_CHARACTERS = (4, 12), (8, 24)

# Pairs of an English sentence and its translation.
Pairs = list[tuple[str, str]]


@dataclass(slots=True)
class ParallelTexts:
    """Texts in several languages.

    Attributes:
        articles: For each article, its sentences by language; all languages have the same number of sentences.
        sentences: Pairs of sentences that have nothing to do with each other, by language.
        messages: Pairs of messages by language; those one below another are often about the same thing.
    """

    articles: list[dict[str, list[str]]] = field(default_factory=list)
    sentences: dict[str, Pairs] = field(default_factory=dict)
    messages: dict[str, Pairs] = field(default_factory=lambda: defaultdict(list))

    def pairs(self, lang: str) -> Pairs:
        """Return all pairs of an English sentence and its translation."""
        of_articles = [pair for article in self.articles for pair in zip(article[_ENGLISH], article[lang], strict=True)]
        return [*of_articles, *self.sentences.get(lang, []), *self.messages.get(lang, [])]


def read_parallel_texts(ntrex: Path, tatoeba: Path, messages: Sequence[Path]) -> ParallelTexts:
    """Read the sources.

    Args:
        ntrex: The folder of NTREX-128 with `DOCUMENT_IDS.tsv` and `NTREX-128`.
        tatoeba: The folder `data/tatoeba/v1` of LASER.
        messages: Folders that have `en.json` and files such as `de.json` beside it, at any depth.
    """
    texts = ParallelTexts(articles=_read_articles(ntrex))
    for lang, (_, _, code) in LANGUAGES.items():
        path = tatoeba / f"tatoeba.{code}-eng.{code}"
        if path.exists():
            texts.sentences[lang] = list(zip(_lines(path.with_suffix(".eng")), _lines(path), strict=True))
    for english in sorted(path for folder in messages for path in folder.rglob("en.json")):
        original = dict(_messages(json.loads(english.read_text())))
        for lang in LANGUAGES:
            path = english.with_name(f"{lang}.json")
            translated = dict(_messages(json.loads(path.read_text()))) if path.exists() else {}
            both = [(original[key], text) for key, text in translated.items() if _is_sentence(original.get(key))]
            texts.messages[lang] += [pair for pair in both if pair[0] != pair[1] and not _MARKS.search(pair[1])]
    return texts


def choose_language(generator: random.Random) -> str:
    """Return a language other than English, more often one that is far from it or has many speakers."""
    return generator.choices(list(LANGUAGES), [share for share, *_ in LANGUAGES.values()])[0]


def parallel_groups(texts: ParallelTexts, generator: random.Random) -> Iterator[Group]:
    """Yield groups without an end: a sentence or a part of it, the text with its translation, and two similar texts."""
    while True:
        lang, value = choose_language(generator), generator.random()
        if value < _SHARE_FROM_ENGLISH:
            langs = _ENGLISH, lang
        elif value < _SHARE_FROM_ENGLISH + _SHARE_TO_ENGLISH:
            langs = lang, _ENGLISH
        else:
            langs = lang, choose_language(generator)
        if _ENGLISH not in langs or generator.random() < _SHARE_ARTICLES:
            group = _from_article(generator.choice(texts.articles), *langs, generator)
        else:
            source = texts.sentences if generator.random() < _SHARE_SENTENCES else texts.messages
            group = _from_pairs(source.get(lang, []), generator, is_question_english=langs[0] == _ENGLISH)
        if group:
            yield group


def _read_articles(ntrex: Path) -> list[dict[str, list[str]]]:
    folder, ids = ntrex / "NTREX-128", _lines(ntrex / "DOCUMENT_IDS.tsv")
    names = {_ENGLISH: "src.eng", **{lang: f"ref.{code}" for lang, (_, code, _) in LANGUAGES.items()}}
    lines = {lang: _lines(folder / f"newstest2019-{name}.txt") for lang, name in names.items()}
    rows: dict[str, list[int]] = defaultdict(list)
    for row, name in enumerate(ids):
        rows[name].append(row)
    return [
        {lang: [of_lang[row] for row in of_article] for lang, of_lang in lines.items()}
        for of_article in rows.values()
        if len(of_article) >= _MIN_SENTENCES
    ]


def _lines(path: Path) -> list[str]:
    return path.read_text().strip("\n").split("\n")


def _messages(node: object, key: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(node, dict):
        for name, value in node.items():
            yield from _messages(value, f"{key}/{name}")
    elif isinstance(node, str):
        yield key, node


def _is_sentence(text: str | None) -> TypeGuard[str]:
    return text is not None and _MIN_CHARACTERS <= len(text) <= _MAX_CHARACTERS and not _MARKS.search(text)


def _from_article(
    article: Mapping[str, Sequence[str]], question_lang: str, text_lang: str, generator: random.Random
) -> Group | None:
    """Return a sentence of an article with the sentences around its translation, and two other places."""
    sentences, joint = article[text_lang], "" if text_lang in UNSPACED else " "
    size, row = generator.choice(_SENTENCES_PER_TEXT), generator.randrange(len(sentences))
    first = generator.randint(max(0, row - size + 1), min(row, len(sentences) - size))
    others = [other for other in range(len(sentences) - size + 1) if not other <= row < other + size]
    if len(others) < _WRONG_TEXTS:
        return None
    starts = [first, *generator.sample(others, _WRONG_TEXTS)]
    texts = [joint.join(sentences[start : start + size]) for start in starts]
    question = _part(article[question_lang][row], question_lang, generator)
    return Group(question, [(text, number == 0) for number, text in enumerate(texts)])


def _from_pairs(pairs: Pairs, generator: random.Random, *, is_question_english: bool) -> Group | None:
    """Return a sentence with its translation and with those of its neighbours."""
    if not pairs:
        return None
    row = generator.randrange(len(pairs))
    places = [row + 1, row - 1, row + 2, row - 2, row + 3, generator.randrange(len(pairs))]
    others = [pairs[other] for other in places if 0 <= other < len(pairs)]
    wrong = [pair for pair in others if not set(pair) & set(pairs[row])][:_WRONG_TEXTS]
    if len(wrong) < _WRONG_TEXTS:
        return None
    of_question, of_text = (0, 1) if is_question_english else (1, 0)
    texts = [(pairs[row][of_text], True), *((pair[of_text], False) for pair in wrong)]
    return Group(pairs[row][of_question], texts)


def _part(sentence: str, lang: str, generator: random.Random) -> str:
    """Return a sentence, or some of its words one behind the other."""
    if generator.random() >= _SHARE_PARTS:
        return sentence
    units = list(sentence) if lang in UNSPACED else sentence.split(" ")
    size = generator.randint(*(_PART_CHARACTERS if lang in UNSPACED else _PART_WORDS))
    start = generator.randrange(max(1, len(units) - size))
    return ("" if lang in UNSPACED else " ").join(units[start : start + size])
