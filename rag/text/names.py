"""Names and identifiers in a text, recognized by their spelling.

Works in all scripts that have capital letters. In German, where all nouns are capitalized, nouns count as names.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from .function_words import FUNCTION_WORDS
from .sentences.unspaced_scripts import UNSPACED, UNSPACED_RUN

# A word with inner punctuation: run_target, 1,204.50, 2009-12-31, O'Brien's.
TOKEN = re.compile(r"\w+(?:[.,:/’'-]\w+)*")
# The parts of a token without spaces: Katakana, which are words, other letters of such scripts, and all else.
_KATAKANA = r"[\u30a1-\u30fa\u30fc-\u30fe\uff66-\uff9f]"
_UNSPACED_PARTS = re.compile(rf"{_KATAKANA}+|(?:(?!{_KATAKANA})[{UNSPACED}])+|[^{UNSPACED}]*[^\W{UNSPACED}]")
_INNER_CAPITAL = re.compile(r"[^\W\d_][^\W\d_]*?(?<=[a-z])[A-Z]")
_SENTENCE_START = re.compile(r"(?:\A|[.!?:\n]|[\"“„«(])\s*\Z")
_FUNCTION_WORDS = FUNCTION_WORDS["english"]


@dataclass(frozen=True, slots=True)
class Mention:
    """A name or number as it is written at the character offsets `start` to `end` (exclusive) of a text."""

    text: str
    start: int
    end: int


def find_tokens(text: str) -> Iterator[Mention]:
    """Yield the words and numbers of a text in order. Where no spaces are between words, "2026年" is two of them."""
    for match in TOKEN.finditer(text):
        token = match.group()
        if token.isascii() or not UNSPACED_RUN.search(token):
            yield Mention(token, match.start(), match.end())
            continue
        for part in _UNSPACED_PARTS.finditer(token):
            yield Mention(part.group(), match.start() + part.start(), match.start() + part.end())


def find_names(text: str) -> Iterator[Mention]:
    """Yield the names and identifiers of a text in order, each word on its own.

    That is: capitalized words, unless they begin a sentence; words in capitals; identifiers such as run_target or
    DiffExecutor.
    """
    for token in find_tokens(text):
        if _is_name(token.text, text, token.start):
            yield token


def _is_name(word: str, text: str, start: int) -> bool:
    if word[0].isdigit():
        return False
    if "_" in word.strip("_") or _INNER_CAPITAL.match(word) or any(character.isdigit() for character in word):
        return True
    letters = re.split(r"[’']", word)[0]
    if len(letters) > 1 and letters.isupper():
        return True
    return word[0].isupper() and word.lower() not in _FUNCTION_WORDS and not _SENTENCE_START.search(text[:start][-8:])
