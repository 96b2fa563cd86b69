"""Words of an English question that may be misspelled, and the words that may be meant."""

import re
import string

# A shorter word is too much like many others.
_MIN_LETTERS, _MAX_LETTERS = 4, 20
# A word in lower case that stands alone: not a name, and not a part of an identifier, an address or a path. Only the
# first word of a question may have a capital.
_WORD = re.compile(
    rf"(?:\A[A-Za-z]|(?<=[\s(])[a-z])[a-z]{{{_MIN_LETTERS - 1},{_MAX_LETTERS - 1}}}(?=[)?!.,;:]*(?:\s|\Z))"
)


def find_plain_words(text: str) -> list[str]:
    """Return the words of a text that are plain words of four letters or more, in lower case, each once."""
    return list(dict.fromkeys(word.lower() for word in _WORD.findall(text)))


def replace_words(text: str, replacements: dict[str, str]) -> str:
    """Replace words that `find_plain_words` found. What replaces a word with a capital begins with one, too."""

    def replace(match: re.Match[str]) -> str:
        word = match.group()
        replacement = replacements.get(word.lower(), word)
        return replacement.capitalize() if word[0].isupper() else replacement

    return _WORD.sub(replace, text)


def similar_words(word: str) -> list[str]:
    """Return what a word becomes if one typing error is undone, without its first letter being changed.

    Two neighbours change places, a letter is added, left out or replaced (Damerau 1964: most errors are one of these).
    The first letter is rarely wrong.

    Returns:
        About 50 words for each letter, most of which do not exist. Swapped and doubled letters come first.
    """
    cuts = [(word[:place], word[place:]) for place in range(1, len(word) + 1)]
    swapped = [head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1]
    doubled = [head + head[-1] + tail for head, tail in cuts]
    left_out = [head + tail[1:] for head, tail in cuts if tail]
    added = [head + letter + tail for head, tail in cuts for letter in string.ascii_lowercase]
    replaced = [head + letter + tail[1:] for head, tail in cuts if tail for letter in string.ascii_lowercase]
    words = dict.fromkeys([*swapped, *doubled, *left_out, *added, *replaced])
    return [similar for similar in words if similar != word]
