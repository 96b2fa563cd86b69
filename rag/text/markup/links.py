"""Links in Markdown: which characters of them people read."""

import re

# A title may have brackets and several sentences: `[the form](form.md "Fill it in. Then wait.")`
TITLE = r"\s{0,9}\"[^\"\n]{0,300}\"\s{0,9}"
# A link within the documents leads nowhere in an answer.
_RELATIVE_LINK = re.compile(rf"(?<!!)\[([^\[\]\n]{{1,200}})\]\(\s{{0,9}}(?!https?://)[^()\"\s]{{0,300}}(?:{TITLE})?\)")


def without_relative_links(text: str) -> str:
    """Return a text in which links within the documents are their texts."""
    return _RELATIVE_LINK.sub(r"\1", text)
