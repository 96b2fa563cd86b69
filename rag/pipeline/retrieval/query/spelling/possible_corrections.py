"""The words that may be meant by a misspelled one."""

import string


def possible_corrections(word: str) -> list[str]:
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
