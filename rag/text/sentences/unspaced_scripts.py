"""Scripts without spaces between words: Thai, Lao, Burmese, Khmer, Kana, Han.

Parser processes import this, so it must not import Django.
"""

import re

# For a set of characters of a regular expression.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d"
    "\U00020000-\U0003ffff"
)
UNSPACED_RUN = re.compile(f"[{UNSPACED}]+")
_WORD = re.compile(r"\w+")
_LETTER = re.compile(r"[^\W\d_]")


def is_mostly_unspaced(text: str) -> bool:
    """Return whether at least half of a text's letters are of such scripts."""
    if text.isascii():
        return False
    unspaced = sum(map(len, UNSPACED_RUN.findall(text)))
    return unspaced > 0 and 2 * unspaced >= len(_LETTER.findall(text))


def count_words(text: str) -> int:
    """Return how many words a text has; where no spaces are between them, a word has two letters on average."""
    if text.isascii() or not UNSPACED_RUN.search(text):
        return len(text.split())
    letters = sum(map(len, UNSPACED_RUN.findall(text)))
    return (letters + 1) // 2 + len(_WORD.findall(UNSPACED_RUN.sub(" ", text)))
