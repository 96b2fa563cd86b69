"""The dictionary of English words that tells a rare word from a misspelled one."""

import functools
from importlib import resources

# 82,765 words, one a line, each followed by how often it is used (SymSpell, from SCOWL and Google's n-grams).
_PACKAGE, _FILE = "symspellpy", "frequency_dictionary_en_82_765.txt"


def is_english_word(word: str) -> bool:
    """Return whether the dictionary has a word in this form.

    Args:
        word: A word of the letters a to z, in lower case.
    """
    return f"\n{word} ".encode() in _read_dictionary()


@functools.cache
def _read_dictionary() -> bytes:
    """Return the text of the dictionary: 1.3 MB, where a set of its words would take 9 MB in each process.

    A word is found within a millisecond.
    """
    return resources.files(_PACKAGE).joinpath(_FILE).read_bytes()
