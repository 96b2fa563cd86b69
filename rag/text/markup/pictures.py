"""Pictures in answers, which clients would load: their addresses can carry the question and passages away.

A document may contain instructions that a model follows, and the author of a quoted picture would learn of each reader.
A space takes the effect of a picture's first characters in Markdown and HTML. Links stay, because only a person opens
them, but citations of a model's answer are no links, because people trust them.
"""

import re
from collections.abc import Callable

from .links import TITLE

# Other elements of HTML load an address by themselves, if they have attributes; the last three by what they contain.
_LOADING_TAG = (
    r"<(?=img|(?:audio|embed|iframe|image|input|link|object|source|track|video)[\s/]|(?:script|style|svg)[\s/>])"
)
_START = re.compile(rf"!(?=\[)|{_LOADING_TAG}", re.IGNORECASE)
_RENDERED_PICTURE = re.compile(_LOADING_TAG, re.IGNORECASE)
_PICTURE = re.compile(rf"!\[[^\[\]\n]{{0,300}}\](?:\([^()\"\n]{{0,500}}(?:{TITLE})?\)|\[[^\[\]\n]{{0,100}}\])")
_ONLY_PICTURES = re.compile(rf"(?:>\s*)*(?:{_PICTURE.pattern}\s*)+")
# The end of a part that may be the beginning of a picture, or say where citations lead.
_UNDECIDED = re.compile(r"(?:!?\[[\s\d]{0,99}\]?|!|<[a-z]{0,6})\Z", re.IGNORECASE)
# `[1]: address` says where every `[1]` leads, `[1](address)` where this one does.
_CITATION_BEFORE_ADDRESS = re.compile(r"\[[\s\d]{1,99}\](?=[:(])")


def is_only_pictures(line: str) -> bool:
    """Return whether a line has nothing but pictures."""
    return line.startswith(("!", ">")) and bool(_ONLY_PICTURES.fullmatch(line))


def without_pictures(text: str) -> str:
    """Return a text without its pictures, as far as they are written as usual."""
    return _PICTURE.sub("", text) if "![" in text else text


def disable_pictures(text: str) -> str:
    """Return the text with `! [` for `![`, and `< img` for `<img`."""
    return _START.sub(r"\g<0> ", text)


def disable_in_answer(text: str) -> str:
    """Return a model's answer with its pictures disabled, and with a space after `[1]` where it would become a link."""
    return _CITATION_BEFORE_ADDRESS.sub(r"\g<0> ", disable_pictures(text))


def keep_pictures_in_code(text: str, *, to_html: Callable[[str], str]) -> str:
    """Return the text as it is if its pictures are shown as code, otherwise without any.

    What is before a block of code may make text of it: tildes, or the beginning of a comment in HTML.

    Args:
        text: The text.
        to_html: Renders Markdown as clients do.
    """
    if _START.search(text) and _RENDERED_PICTURE.search(to_html(text)):
        return disable_pictures(text)
    return text


class PictureFilter:
    """Passes on a model's answer that arrives in parts, as `disable_in_answer` returns it."""

    def __init__(self) -> None:
        self._unread = ""

    def add(self, part: str) -> str:
        """Return the text that is known with this part."""
        text = self._unread + part
        undecided = _UNDECIDED.search(text)
        end = undecided.start() if undecided else len(text)
        self._unread = text[end:]
        return disable_in_answer(text[:end])

    def finish(self) -> str:
        """Return the rest of an answer that has ended."""
        return disable_in_answer(self._unread)
