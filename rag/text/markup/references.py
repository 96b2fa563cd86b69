"""References to other places, as markup writes them: in an answer they are plain words."""

import re

# ``:ref:`Text <target>` `` in reStructuredText, ``{ref}`Text <target>` `` in MyST. A domain may be before the role.
_ROLE = re.compile(
    r"(?<![\w`]):(?:[\w+.-]{1,40}:){0,3}(?P<role>[\w+.-]{1,40}):`(?P<text>[^`]+)`"
    r"|(?<![\w`/=?&.-])\{(?:[\w+.-]{1,40}:){0,3}(?P<myst>[\w+.-]{1,40})\}`(?P<words>[^`]+)`"
)
_TITLE_AND_TARGET = re.compile(r"(?P<title>.*\S)\s*<(?P<target>[^<>]+)>", re.DOTALL)
# Roles whose text are words, whose text is a label, and whose text follows the role's name; others are code.
_WORDS = frozenset(
    ["abbr", "doc", "emphasis", "strong", "term", "title-reference", "guilabel", "menuselection", "dfn", "sub", "sup"]
)
_LABELS = frozenset(["ref", "numref", "any", "label", "keyword"])
_NUMBERS = {
    "issue": "issue ",
    "pr": "pull request ",
    "pull": "pull request ",
    "pep": "PEP ",
    "rfc": "RFC ",
    "user": "@",
}
# `` `Text <target>`_ `` and `` `Text`_ ``. Spaces are outside of it: "`-` and `_`" are two marks in Markdown.
_LINK = re.compile(r"(?<![`:\w])`(?=\S)(?P<text>[^`]+)(?<=\S)`__?(?!\w)")
_SUBSTITUTION = re.compile(r"(?<![\w|`])\|(?P<name>[A-Za-z][\w .-]{0,50}?)\|(?:__?(?!\w))?(?!\|)")
_FOOTNOTE = re.compile(r"\s?(?:\[(?:#[\w-]*|\d{1,3}|\*)\]_(?!\w)|\[\^[\w-]{1,30}\](?!:))")
# `Name_`: only in reStructuredText, because other texts may write `prefix_`.
_NAMED = re.compile(r"(?<![\w`/.:-])(?P<name>[A-Za-z]\w*(?:[-.]\w+)*?)__?(?![\w`])")
_EMPHASIS = re.compile(r"(?<!\w)_\w")
_LITERAL = re.compile(r"(?<!`)``(?!`)(?P<code>[^`\n]+(?:\n[^`\n]+)*)``(?!`)")
# `[Text][target]` in Markdown, `xref:target[Text]` and `<<target,Text>>` in AsciiDoc, `[[Page|Text]]` in wikis.
_OTHERS = re.compile(
    r"(?<![!\w\]])\[(?P<text>(?=[^\[\]]*[^\W\d_])[^\[\]\n]{2,200})\]\[[^\[\]\n]{0,100}\]"
    r"|\b(?:xref|link):[^\s\[\]]{1,200}\[(?P<xref>[^\[\]\n]{1,200})\]"
    r"|<<[\w#./-]{1,100},\s*(?P<anchor>[^<>\n]{1,200})>>"
    r"|\[\[(?:[^\[\]|\n]{1,200}\|)?(?P<page>[^\[\]|\n]{1,200})\]\]"
)
_INLINE_CODE = re.compile(r"(`[^`]+`)")
_RESTRUCTURED = re.compile(
    r"^[ \t]*\.\. |::[ \t]*$|(?<![\w`]):[\w:+.-]{1,80}:`[^`]{1,300}`|(?<!`)``(?!`)|(?<=[^\s`])`__?(?![\w`])",
    re.MULTILINE,
)


def is_restructured(text: str) -> bool:
    """Return whether a text has marks of reStructuredText."""
    return bool(_RESTRUCTURED.search(text))


def as_words(text: str, *, is_restructured: bool = False) -> str:
    """Return the text with references to other places as the words that people read.

    Marks of footnotes are left out. Links to web addresses become links in Markdown, and literals inline code.

    Args:
        text: The text.
        is_restructured: Whether it is from a text in reStructuredText, where `|name|` and `name_` are references.
    """
    if "`" in text:
        text = _ROLE.sub(_read_role, text)
        text = _LINK.sub(lambda match: _title(match["text"]), text)
        text = _LITERAL.sub(lambda match: f"`{match['code'].strip()}`", text)
    if not any(mark in text for mark in "|_[<"):
        return text
    parts = _INLINE_CODE.split(text)
    parts[::2] = [_outside_of_code(part, is_restructured) for part in parts[::2]]
    return "".join(parts)


def _outside_of_code(text: str, is_restructured: bool) -> str:
    text = _FOOTNOTE.sub("", text)
    if is_restructured:
        text = _SUBSTITUTION.sub(lambda match: _spaced(match["name"]), text)
        text = text if _EMPHASIS.search(text) else _NAMED.sub(r"\g<name>", text)
    return _OTHERS.sub(lambda match: next(filter(None, match.groups())), text)


def _read_role(match: re.Match[str]) -> str:
    """Return what a reader of the rendered page sees of ``:role:`content` ``.

    A title before a target is shown alone. Otherwise the role decides: a label as words, a number with the name of what
    it counts ("PEP 8"), words as they are, and everything else as inline code.
    """
    role = (match["role"] or match["myst"]).lower()
    content = " ".join((match["text"] or match["words"]).split())
    content = content.lstrip("!")  # which means: without a link
    if titled := _TITLE_AND_TARGET.fullmatch(content):
        return titled["title"]
    if role in _LABELS:
        return _spaced(content)
    if role in _NUMBERS:
        return f"{_NUMBERS[role]}{content}"
    if role in _WORDS:
        return content.strip("/")  # the path of a page, from the root of the documentation or to a folder
    if content.startswith("~"):  # which means: only the last part of a dotted name
        content = content.rpartition(".")[2]
    return f"`{content}`"


def _title(text: str) -> str:
    titled = _TITLE_AND_TARGET.fullmatch(" ".join(text.split()))
    if titled is None:
        return " ".join(text.split())
    target = titled["target"]
    return f"[{titled['title']}]({target})" if target.startswith(("https://", "http://")) else titled["title"]


def _spaced(name: str) -> str:
    return re.sub(r"[-_/]+", " ", name).strip()
