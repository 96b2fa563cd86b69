"""Pictures in a model's answer, which clients would load: their addresses can carry the question and passages away.

A document may contain instructions that a model follows. A space takes the effect of a picture's first characters in
Markdown and HTML. Links stay: they are opened by a person only.
"""

import re

_START = re.compile(r"!(?=\[)|<(?=img)", re.IGNORECASE)
# The end of a part that may be the beginning of a picture.
_UNDECIDED = re.compile(r"(?:!|<(?:i(?:m)?)?)\Z", re.IGNORECASE)


def disable_pictures(text: str) -> str:
    """Return the answer with `! [` for `![`, and `< img` for `<img`."""
    return _START.sub(r"\g<0> ", text)


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
