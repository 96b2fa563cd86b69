"""English groups in which words are replaced by words of other languages."""

import random
from dataclasses import replace

from benchmarks.training.multilingual_check.groups import Group
from benchmarks.training.multilingual_check.parallel_texts import choose_language
from benchmarks.training.multilingual_check.word_translations import Translations, replace_words

# How often the words of the question alone, of the texts alone, and of both are replaced.
_SHARE_QUESTION, _SHARE_TEXTS, _SHARE_BOTH, _SHARE_SAME_LANGUAGE = 0.4, 0.2, 0.24, 0.7
_SHARES_OF_QUESTION, _SHARES_OF_TEXT = (0.6, 0.9, 1.0, 1.0), (0.5, 0.8, 1.0)


def mix_languages(group: Group, translations: Translations, generator: random.Random) -> Group:
    """Replace words of the question, of the texts or of both by translations, or leave all in English."""
    value, lang = generator.random(), choose_language(generator)
    question, texts = group.question, group.texts
    if value < _SHARE_QUESTION or value >= 1 - _SHARE_BOTH:
        question = replace_words(question, translations, lang, generator.choice(_SHARES_OF_QUESTION), generator)
    if value >= 1 - _SHARE_BOTH and generator.random() >= _SHARE_SAME_LANGUAGE:
        lang = choose_language(generator)
    if value >= 1 - _SHARE_BOTH or _SHARE_QUESTION <= value < _SHARE_QUESTION + _SHARE_TEXTS:
        texts = [
            (replace_words(text, translations, lang, generator.choice(_SHARES_OF_TEXT), generator), is_right)
            for text, is_right in texts
        ]
    return replace(group, question=question, texts=texts)
