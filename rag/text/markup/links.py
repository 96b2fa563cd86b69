"""Links and pictures in Markdown: which characters of them people read."""

import re

# A title may have brackets and several sentences: `![Screenshot](a.png "Click OK. Then wait.")`
_TITLE = r"\s{0,9}\"[^\"\n]{0,300}\"\s{0,9}"
_PICTURE = re.compile(rf"!\[[^\[\]\n]{{0,300}}\](?:\([^()\"\n]{{0,500}}(?:{_TITLE})?\)|\[[^\[\]\n]{{0,100}}\])")
_ONLY_PICTURES = re.compile(rf"(?:>\s*)*(?:{_PICTURE.pattern}\s*)+")
# A link within the documents leads nowhere in an answer.
_RELATIVE_LINK = re.compile(rf"(?<!!)\[([^\[\]\n]{{1,200}})\]\(\s{{0,9}}(?!https?://)[^()\"\s]{{0,300}}(?:{_TITLE})?\)")


def is_only_pictures(line: str) -> bool:
    """Return whether a line has nothing but pictures."""
    return line.startswith(("!", ">")) and bool(_ONLY_PICTURES.fullmatch(line))


def without_pictures(text: str) -> str:
    """Return a text without its pictures."""
    return _PICTURE.sub("", text) if "![" in text else text


def without_relative_links(text: str) -> str:
    """Return a text in which links within the documents are their texts."""
    return _RELATIVE_LINK.sub(r"\1", text)
