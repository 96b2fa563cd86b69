"""Words of an English question that may be corrected: neither names nor parts of identifiers."""

import re

# A shorter word is too much like many others.
_MIN_LETTERS, _MAX_LETTERS = 4, 20
# A word in lower case that stands alone: not a name, and not a part of an identifier, an address or a path. Only the
# first word of a question may have a capital.
_WORD = re.compile(
    rf"(?:\A[A-Za-z]|(?<=[\s(])[a-z])[a-z]{{{_MIN_LETTERS - 1},{_MAX_LETTERS - 1}}}(?=[)?!.,;:]*(?:\s|\Z))"
)


def find_correctable_words(text: str) -> list[str]:
    """Return the words of a text that are plain words of four letters or more, in lower case, each once."""
    return list(dict.fromkeys(word.lower() for word in _WORD.findall(text)))


def replace_words(text: str, replacements: dict[str, str]) -> str:
    """Replace words that `find_correctable_words` found. What replaces a word with a capital begins with one, too."""

    def replace(match: re.Match[str]) -> str:
        word = match.group()
        replacement = replacements.get(word.lower(), word)
        return replacement.capitalize() if word[0].isupper() else replacement

    return _WORD.sub(replace, text)
