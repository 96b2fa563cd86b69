"""Pictures in answers, which clients would load: their addresses can carry the question and passages away.

A document may contain instructions that a model follows, and the author of a quoted picture would learn of each reader.
A space takes the effect of a picture's first characters in Markdown and HTML. Links stay, because only a person opens
them, but citations of a model's answer are no links, because people trust them.
"""

import re
from collections.abc import Callable, Iterator, Mapping

from .links import TITLE

# Other elements of HTML load an address by themselves, if they have attributes, or say where addresses lead; the last
# three load by what they contain.
_LOADING_TAG = (
    r"<(?=img|(?:audio|base|bgsound|embed|fencedframe|frame|iframe|image|input|link|meta|object|source|track|video"
    r"|webview)[\s/]|(?:script|style|svg)[\s/>])"
)
_START = re.compile(rf"!(?=\[)|{_LOADING_TAG}", re.IGNORECASE)
_RENDERED_PICTURE = re.compile(_LOADING_TAG, re.IGNORECASE)
_PICTURE = re.compile(rf"!\[[^\[\]\n]{{0,300}}\](?:\([^()\"\n]{{0,500}}(?:{TITLE})?\)|\[[^\[\]\n]{{0,100}}\])")
_ONLY_PICTURES = re.compile(rf"(?:>\s*)*(?:{_PICTURE.pattern}\s*)+")
# Every element, of any name, loads the addresses of its style and of its background, and runs what an event does.
_TAG_WITH_ATTRIBUTES = re.compile(r"<(?=[a-z][^\s/>]{0,99}[\s/])", re.IGNORECASE)
_TAG_WITH_LONG_NAME = re.compile(r"<(?=[a-z][^\s/>]{100})", re.IGNORECASE)
_LOADING_ATTRIBUTE = re.compile(r"[\s\"'/](?:style|background|on[a-z]{1,30})\s*+=", re.IGNORECASE)
# A tag until its end, which is not in a quoted value. Tags without an end in this many characters are disabled. No
# group is possessive, because Python 3.11.2 does not match that.
_WHOLE_TAG = re.compile(r"(?:=\s*+(?:\"[^\"]*+\"|'[^']*+')|(?!=\s*+[\"'])[^>])*>")
_MAX_TAG_CHARACTERS = 300
# What a citation and the name of a definition may contain.
_NUMBERS = r"[\s\d,;–-]"
# `[1]: address` says where every `[1]` leads, `[1](address)` and `[1][name]` where this one does. `[1][2]` are two.
_ADDRESS = rf"(?=[:(]|\[(?!{_NUMBERS}{{1,99}}\]))"
_CITATION_BEFORE_ADDRESS = re.compile(rf"\[{_NUMBERS}{{1,99}}\]{_ADDRESS}")
# The same for a text around citations: `[[1]](address)`, `[the plan [1]](address)`.
_LINK_AROUND_CITATION = re.compile(
    rf"\[{_NUMBERS}{{1,99}}\](?=([^\[\]]{{0,200}}(?:\[[^\[\]]{{0,20}}\][^\[\]]{{0,20}}){{0,3}}\]{{1,9}}){_ADDRESS})"
)
# Blocks of code of which clients draw pictures or maps that load addresses, and all that name a directive of MyST, such
# as `{figure}`, also between colons. Entities may stand for letters of the language.
_DRAWN_CODE = re.compile(
    r"(?<=```|~~~|:::)(?:[ \t]{0,99}(?=\{|mermaid|vega|geojson|topojson|[^\s`~:&]{0,50}&)|[ \t]{100})", re.IGNORECASE
)
_BORDERS, _OTHER_LANGUAGE = ("```", "~~~", ":::"), "text "
# The end of a part that may be the beginning of a citation, a tag or a block of code.
_UNDECIDED = re.compile(
    rf"(?:\[{_NUMBERS}{{0,99}}|<(?:[a-z][^\s/>]{{0,99}})?|`{{1,20}}|~{{1,20}}|:{{1,20}}"
    r"|(?:`{3,20}|~{3,20}|:{3,20})[ \t]{0,99}[^\s`~:]{0,50})\Z",
    re.IGNORECASE,
)
# What is next to each place at which something is inserted, except in blocks of code.
_MAY_NEED_INSERTION = re.compile(r"[!<\[(:]")
# As much of the text before a place decides about it.
_MAX_BEFORE = 500


def is_only_pictures(line: str) -> bool:
    """Return whether a line has nothing but pictures."""
    return line.startswith(("!", ">")) and bool(_ONLY_PICTURES.fullmatch(line))


def without_pictures(text: str) -> str:
    """Return a text without its pictures, as far as they are written as usual."""
    return _PICTURE.sub("", text) if "![" in text else text


def disable_pictures(text: str) -> str:
    """Return the text with `! [` for `![`, and `< img` for `<img` and other tags that load an address."""
    return _insert(text, dict.fromkeys(_find_pictures(text), " "))


def disable_in_answer(text: str) -> str:
    """Return a model's answer with its pictures disabled, and with a space after `[1]` where it would become a link."""
    return _insert(text, _find_insertions(text))


def keep_pictures_in_code(text: str, *, to_html: Callable[[str], str]) -> str:
    """Return the text as it is if its pictures are shown as code, otherwise without any.

    What is before a block of code may make text of it: tildes, or the beginning of a comment in HTML.

    Args:
        text: The text.
        to_html: Renders Markdown as clients do.
    """
    if next(_find_pictures(text), None) is None:
        return text
    html = to_html(text)
    return disable_pictures(text) if _RENDERED_PICTURE.search(html) or _has_loading_tag(html) else text


class PictureFilter:
    """Passes on a model's answer that arrives in parts, as `disable_in_answer` returns it."""

    def __init__(self) -> None:
        self._before = self._unread = ""

    def add(self, part: str) -> str:
        """Return the text that is known with this part."""
        return self._pass_on(part, is_end=False)

    def finish(self) -> str:
        """Return the rest of an answer that has ended."""
        return self._pass_on("", is_end=True)

    def _pass_on(self, part: str, *, is_end: bool) -> str:
        start, text = len(self._before), self._before + self._unread + part
        end = len(text) if is_end else _decided_end(text, start)
        insertions: dict[int, str] = {}
        has_code = any(border in text for border in _BORDERS)
        if has_code or _MAY_NEED_INSERTION.search(text, max(0, start - 1), end):
            insertions = {place: added for place, added in _find_insertions(text).items() if start <= place < end}
        self._before, self._unread = text[max(0, end - _MAX_BEFORE) : end], text[end:]
        return _insert(text[:end], insertions, start)


def _decided_end(text: str, start: int) -> int:
    """Return the place after `start` up to which nothing that follows the text changes what is inserted."""
    undecided = _UNDECIDED.search(text, start)
    end = undecided.start() if undecided else len(text)
    tag_start = next((place for place, is_loading in _judge_tags(text) if is_loading is None and place >= start), end)
    return min(end, tag_start)


def _insert(text: str, insertions: Mapping[int, str], start: int = 0) -> str:
    """Return the text from `start` on with the insertions at their places."""
    parts = []
    for place in sorted(insertions):
        parts += [text[start:place], insertions[place]]
        start = place
    return "".join([*parts, text[start:]])


def _find_insertions(text: str) -> dict[int, str]:
    """Return place → what must be inserted there into a model's answer."""
    languages = {match.end(): _OTHER_LANGUAGE for match in _DRAWN_CODE.finditer(text)}
    citations = [match.end() for match in _CITATION_BEFORE_ADDRESS.finditer(text)]
    links = [match.end(1) for match in _LINK_AROUND_CITATION.finditer(text)]
    return languages | dict.fromkeys([*_find_pictures(text), *citations, *links], " ")


def _find_pictures(text: str) -> Iterator[int]:
    """Yield the places after the first character of what clients would load."""
    yield from (match.end() for match in _START.finditer(text))
    yield from (start + 1 for start, is_loading in _judge_tags(text) if is_loading)
    yield from (match.end() for match in _TAG_WITH_LONG_NAME.finditer(text))


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
