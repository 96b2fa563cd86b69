"""Earlier mails that a reply quotes below or between its own lines: what they say may have changed since."""

import re
from collections.abc import Sequence

from rag.text.markup.titles.mail_headers import find_mail_headers

_MARK = ">"
_FORMATS = (".eml", ".msg")
_ORIGINAL = re.compile(
    r"[>\s]*-{2,}\s?(?:original message|ursprüngliche nachricht|message d['’]origine|mensaje original"
    r"|messaggio originale)\s?-{2,}\s*",
    re.IGNORECASE,
)
_WROTE = re.compile(
    r"[>\s]*(?:on .{5,200} wrote|am .{5,200} schrieb\b[^:]{0,200}|le .{5,200} a écrit|el .{5,200} escribió)\s?:\s*",
    re.IGNORECASE,
)
# A text without one of these has no line like those. Words are found much faster than a pattern.
_ORIGINAL_HINT = re.compile(r"-{2}\s?(?:orig|urspr|mess|mens)", re.IGNORECASE)
_WROTE_HINTS = ("wrote", "schrieb", "a écrit", "escribió")
_MAX_LINE_CHARACTERS = 500
# Above a forwarded mail is less.
_MIN_WORDS = 8


def find_quoted_lines(text: str, path: str, *, is_beginning: bool = False) -> frozenset[int]:
    """Return the numbers of the lines of a mail that are from the mails that it answers.

    Args:
        text: The text of a passage.
        path: The path of its document. Without that of a mail, lines are quoted only below one such as "On … wrote:".
        is_beginning: Whether the document begins with it, so that the first header is that of the mail itself.
    """
    quoted, lines = _find_quoted(text, path, is_beginning=is_beginning), text.splitlines()
    header = next(iter(find_mail_headers(lines)), None) if quoted and is_beginning else None
    others = quoted.union(header.lines if header else ())
    reply = " ".join(line for number, line in enumerate(lines) if number not in others)
    return quoted if not is_beginning or len(reply.split()) >= _MIN_WORDS else frozenset()


def _find_quoted(text: str, path: str, *, is_beginning: bool) -> frozenset[int]:
    is_mail = path.lower().endswith(_FORMATS)
    if not is_mail and not _may_quote(text):
        return frozenset()
    lines = text.splitlines()
    # Outlook has the header of the mail that is answered above it.
    headers = [header.lines.start for header in find_mail_headers(lines)] if is_mail else []
    quoted_header = next((number for number in headers if number > 0 or not is_beginning), len(lines))
    introductions = set[int]()  # above marked lines
    for number, line in enumerate(lines[:quoted_header]):
        if len(line) > _MAX_LINE_CHARACTERS:
            continue
        is_introduction = bool(_WROTE.fullmatch(line))
        if _ORIGINAL.fullmatch(line) or (is_introduction and not _has_marks_below(lines, number)):
            quoted_header = number
            break
        if is_introduction:
            introductions.add(number)
            is_mail = True
    marked = _find_marked(lines[:quoted_header], is_mail=is_mail)
    return marked.union(introductions, range(quoted_header, len(lines)))


def _may_quote(text: str) -> bool:
    folded = text.casefold()
    return any(hint in folded for hint in _WROTE_HINTS) or ("--" in text and bool(_ORIGINAL_HINT.search(text)))


def _has_marks_below(lines: Sequence[str], number: int) -> bool:
    following = next((line for line in lines[number + 1 : number + 3] if line.strip()), "")
    return following.startswith(_MARK)


def _find_marked(lines: Sequence[str], *, is_mail: bool) -> frozenset[int]:
    return frozenset(number for number, line in enumerate(lines) if is_mail and line.startswith(_MARK))
