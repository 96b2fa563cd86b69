"""Step: question -> the same without obvious typing errors (docs/decisions/0082-spelling.md)."""

import dataclasses
from collections.abc import Mapping, Sequence

from rag.errors import EmbeddingFailed
from rag.providers import provider_factory
from rag.text.function_words import FUNCTION_WORDS
from rag.text.question_language import is_english
from rag.text.words import stem
from rag.types import Question, SearchScope

from .correctable_words import find_correctable_words, replace_words
from .english_dictionary import word_frequency
from .possible_corrections import possible_corrections

# Each takes about 2 ms; a text with more is not a question with typing errors.
_MAX_CORRECTED = 3
_MIN_STEM_LETTERS = 4
_LANG = "en"
# Of errors that are words themselves the correction is often this many times as frequent ("filer": 340, "wether":
# 270). Rare words that are meant have less frequent ones beside them ("mend": 110, "pint": 12).
_MIN_TIMES_AS_FREQUENT = 200
WARNING = "SPELLING_CORRECTED"
_FUNCTION_WORDS = FUNCTION_WORDS["english"]


def correct_spelling(question: Question, scopes: Sequence[SearchScope]) -> Question:
    """Replace words that nobody knows by similar ones that the documents have.

    A word is replaced if neither the local model's vocabulary nor a chunk of the scopes has it, and an English word
    that differs by one typing error occurs in the scopes, and is used much more often if the dictionary has both. So
    the words of documents that the caller may not read have no effect. Only plain words of English questions are
    examined: names and identifiers stay as they are.

    Args:
        question: The question.
        scopes: The scopes that will be searched.

    Returns:
        The question, with `is_corrected`. One that has it already is returned as it is.

    Raises:
        IndexUnavailable: If the store does not answer.
    """
    if question.is_corrected is not None:
        return question
    words = _find_unusual_words(question.text) if scopes and is_english(question.text) else []
    replacements = _find_replacements(words, scopes) if words else {}
    text = replace_words(question.text, replacements)
    return dataclasses.replace(question, text=text, is_corrected=bool(replacements))


def _find_replacements(words: Sequence[str], scopes: Sequence[SearchScope]) -> dict[str, str]:
    """Return those of the words that no chunk of the scopes has, each with the word that replaces it."""
    store = provider_factory.chunk_store()
    counts = store.count_words(words, scopes)
    similar = {word: possible_corrections(word) for word in words if not counts.get(word)}
    if not 0 < len(similar) <= _MAX_CORRECTED:
        return {}
    candidates = {candidate for similar_to_word in similar.values() for candidate in similar_to_word}
    counts = store.count_words(sorted(candidates), scopes, lang=_LANG)
    corrections = {word: _choose_correction(similar[word], counts) for word in similar}
    return {word: correction for word, correction in corrections.items() if correction and _is_meant(correction, word)}


def _is_meant(correction: str, word: str) -> bool:
    """Return whether a similar word is meant: "file" for "filer", but not "wiki" for "wifi"."""
    frequency = max(map(word_frequency, _forms(word)))
    return max(map(word_frequency, _forms(correction))) >= _MIN_TIMES_AS_FREQUENT * frequency


def _find_unusual_words(text: str) -> list[str]:
    """Return the plain words that the local model's vocabulary lacks in any form; none if it is not installed."""
    vocabulary = provider_factory.local_embedder()
    words = [word for word in find_correctable_words(text) if word not in _FUNCTION_WORDS]
    try:
        return [word for word in words if not any(vocabulary.has_word(form) for form in _forms(word))]
    except EmbeddingFailed:
        return []


def _forms(word: str) -> set[str]:
    """Return a word, its singular ("menus" is its own stem), and its stem if enough is left: "acc" is not "acces"."""
    word_stem = stem(word, _LANG)
    return {word, word.removesuffix("s"), *([word_stem] if len(word_stem) >= _MIN_STEM_LETTERS else [])}


def _choose_correction(similar: Sequence[str], counts: Mapping[str, int]) -> str:
    """Return the first function word among similar words; without one, the word that occurs in the most chunks.

    Args:
        similar: The words that differ from the misspelled one by a typing error.
        counts: In how many chunks each of them occurs.

    Returns:
        The word; empty if there is no function word, and no chunk has any of the words.
    """
    function_word = next((word for word in similar if word in _FUNCTION_WORDS), "")
    best = max(similar, key=lambda word: counts.get(word, 0), default="")
    return function_word or (best if counts.get(best) else "")
