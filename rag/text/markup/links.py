"""Links in Markdown: which characters of them people read."""

import re

# A title may have brackets and several sentences: `[the form](form.md "Fill it in. Then wait.")`
TITLE = r"\s{0,9}\"[^\"\n]{0,300}\"\s{0,9}"
# A link within the documents leads nowhere in an answer, and one to `javascript:alert(1)` would run a script.
_RELATIVE_LINK = re.compile(
    r"(?<!!)\[([^\[\]\n]{1,200})\]\(\s{0,9}(?!https?://)"
    rf"(?:[^()\"\s]|\([^()\"\s]{{0,300}}\)){{0,300}}(?:{TITLE})?\)"
)
# Where a link leads, behind its text, or an address in the text.
_ADDRESS = re.compile(rf"(?<=\])\((?:[^()\s]|\([^()\s]{{0,300}}\)){{0,500}}(?:{TITLE})?\)|https?://[^\s<>)\]]+")


def without_addresses(text: str) -> str:
    """Return a text with links as their texts in brackets, and without addresses."""
    return _ADDRESS.sub("", text)


def without_relative_links(text: str) -> str:
    """Return a text in which links that lead to no web address are their texts."""
    return _RELATIVE_LINK.sub(r"\1", text)
