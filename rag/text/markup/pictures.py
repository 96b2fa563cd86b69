"""Pictures in answers, which clients would load: their addresses can carry the question and passages away.

A document may contain instructions that a model follows, and the author of a quoted picture would learn of each reader.
A space takes the effect of a picture's first characters in Markdown and HTML. Links stay, because only a person opens
them, but citations of a model's answer are no links, because people trust them.
"""

import re
from collections.abc import Callable, Iterator

from .links import TITLE

# Other elements of HTML load an address by themselves, if they have attributes; the last three by what they contain.
_LOADING_TAG = (
    r"<(?=img|(?:audio|bgsound|embed|frame|iframe|image|input|link|meta|object|source|track|video)[\s/]"
    r"|(?:script|style|svg)[\s/>])"
)
_START = re.compile(rf"!(?=\[)|{_LOADING_TAG}", re.IGNORECASE)
_RENDERED_PICTURE = re.compile(_LOADING_TAG, re.IGNORECASE)
_PICTURE = re.compile(rf"!\[[^\[\]\n]{{0,300}}\](?:\([^()\"\n]{{0,500}}(?:{TITLE})?\)|\[[^\[\]\n]{{0,100}}\])")
_ONLY_PICTURES = re.compile(rf"(?:>\s*)*(?:{_PICTURE.pattern}\s*)+")
# Every element loads the addresses of its style and of its background.
_TAG_WITH_ATTRIBUTES = re.compile(r"<(?=[a-z][a-z0-9-]{0,30}[\s/])", re.IGNORECASE)
_LOADING_ATTRIBUTE = re.compile(r"[\s\"'/](?:style|background)\s*+=", re.IGNORECASE)
# A tag until its end, which is not in a quoted value. Tags without an end in this many characters are disabled. No
# group is possessive, because Python 3.11.2 does not match that.
_WHOLE_TAG = re.compile(r"(?:=\s*+(?:\"[^\"]*+\"|'[^']*+')|(?!=\s*+[\"'])[^>])*>")
_MAX_TAG_CHARACTERS = 300
# The end of a part that may be the beginning of a picture or a tag, or say where citations lead.
_UNDECIDED = re.compile(r"(?:!?\[[\s\d]{0,99}\]?|!|<(?:[a-z][a-z0-9-]{0,30})?)\Z", re.IGNORECASE)
# `[1]: address` says where every `[1]` leads, `[1](address)` where this one does.
_CITATION_BEFORE_ADDRESS = re.compile(r"\[[\s\d]{1,99}\](?=[:(])")


def is_only_pictures(line: str) -> bool:
    """Return whether a line has nothing but pictures."""
    return line.startswith(("!", ">")) and bool(_ONLY_PICTURES.fullmatch(line))


def without_pictures(text: str) -> str:
    """Return a text without its pictures, as far as they are written as usual."""
    return _PICTURE.sub("", text) if "![" in text else text


def disable_pictures(text: str) -> str:
    """Return the text with `! [` for `![`, and `< img` for `<img` and other tags that load an address."""
    return _START.sub(r"\g<0> ", _disable_tags(text))


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
    if not (_START.search(text) or _has_loading_tag(text)):
        return text
    html = to_html(text)
    return disable_pictures(text) if _RENDERED_PICTURE.search(html) or _has_loading_tag(html) else text


class PictureFilter:
    """Passes on a model's answer that arrives in parts, as `disable_in_answer` returns it."""

    def __init__(self) -> None:
        self._unread = ""

    def add(self, part: str) -> str:
        """Return the text that is known with this part."""
        text = self._unread + part
        undecided = _UNDECIDED.search(text)
        end = undecided.start() if undecided else len(text)
        tag_start = next((start for start, is_loading in _judge_tags(text) if is_loading is None), end)
        end = min(end, tag_start)
        self._unread = text[end:]
        return disable_in_answer(_disable_tags(text, end))

    def finish(self) -> str:
        """Return the rest of an answer that has ended."""
        return disable_in_answer(self._unread)


def _disable_tags(text: str, end: int | None = None) -> str:
    """Return the text up to an offset with a space in each tag that loads an address by an attribute."""
    parts, position = [], 0
    for start, is_loading in _judge_tags(text):
        if end is not None and start >= end:
            break
        if is_loading:
            parts.append(text[position : start + 1])
            position = start + 1
    return " ".join([*parts, text[position:end]])


def _has_loading_tag(text: str) -> bool:
    return any(is_loading for _, is_loading in _judge_tags(text))


def _judge_tags(text: str) -> Iterator[tuple[int, bool | None]]:
    """Yield the start of each tag with attributes, and whether one of them loads an address.

    None if the text ends before the tag does, and nothing in it loads an address so far.
    """
    attributes = _LOADING_ATTRIBUTE.finditer(text)
    attribute = next(attributes, None)
    for start in (match.start() for match in _TAG_WITH_ATTRIBUTES.finditer(text)):
        beginning = text[start : start + _MAX_TAG_CHARACTERS]
        tag = _WHOLE_TAG.match(beginning) if ">" in beginning else None
        while attribute and attribute.start() < start:
            attribute = next(attributes, None)
        if attribute and attribute.end() <= start + (tag.end() if tag else len(beginning)):
            yield start, True
        elif tag:
            yield start, False
        else:
            yield start, True if len(beginning) == _MAX_TAG_CHARACTERS else None
