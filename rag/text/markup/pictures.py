"""Pictures in answers, which clients would load: their addresses can carry the question and passages away.

A document may contain instructions that a model follows, and the author of a quoted picture would learn of each reader.
A space takes the effect of a picture's first characters in Markdown and HTML. Links stay: only a person opens them.
"""

import re

from markdown_it import MarkdownIt

from .links import TITLE

# Other elements of HTML load an address by themselves, if they have attributes; the last three by what they contain.
_LOADING_TAG = (
    r"<(?=img|(?:audio|embed|iframe|image|input|link|object|source|track|video)[\s/]|(?:script|style|svg)[\s/>])"
)
_START = re.compile(rf"!(?=\[)|{_LOADING_TAG}", re.IGNORECASE)
_RENDERED_PICTURE = re.compile(_LOADING_TAG, re.IGNORECASE)
_PICTURE = re.compile(rf"!\[[^\[\]\n]{{0,300}}\](?:\([^()\"\n]{{0,500}}(?:{TITLE})?\)|\[[^\[\]\n]{{0,100}}\])")
_ONLY_PICTURES = re.compile(rf"(?:>\s*)*(?:{_PICTURE.pattern}\s*)+")
# The end of a part that may be the beginning of a picture.
_UNDECIDED = re.compile(r"(?:!|<[a-z]{0,6})\Z", re.IGNORECASE)
_markdown = MarkdownIt("commonmark")


def is_only_pictures(line: str) -> bool:
    """Return whether a line has nothing but pictures."""
    return line.startswith(("!", ">")) and bool(_ONLY_PICTURES.fullmatch(line))


def without_pictures(text: str) -> str:
    """Return a text without its pictures, as far as they are written as usual."""
    return _PICTURE.sub("", text) if "![" in text else text


def disable_pictures(text: str) -> str:
    """Return the text with `! [` for `![`, and `< img` for `<img`."""
    return _START.sub(r"\g<0> ", text)


def keep_pictures_in_code(text: str) -> str:
    """Return the text as it is if its pictures are shown as code, otherwise without any.

    What is before a block of code may make text of it: tildes, or the beginning of a comment in HTML.
    """
    if _START.search(text) and _RENDERED_PICTURE.search(_markdown.render(text)):
        return disable_pictures(text)
    return text


class PictureFilter:
    """Passes on an answer that arrives in parts, as `disable_pictures` returns it."""

    def __init__(self) -> None:
        self._unread = ""

    def add(self, part: str) -> str:
        """Return the text that is known with this part."""
        text = self._unread + part
        undecided = _UNDECIDED.search(text)
        end = undecided.start() if undecided else len(text)
        self._unread = text[end:]
        return disable_pictures(text[:end])

    def finish(self) -> str:
        """Return the rest of an answer that has ended."""
        return self._unread
