"""Earlier mails that a reply quotes below or between its own lines: what they say may have changed since."""

import re
from collections.abc import Sequence

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
# A text without one of these has no line like those.
_HINT = re.compile(r"-{2}\s?(?:orig|urspr|mess|mens)|wrote|schrieb|a écrit|escribió", re.IGNORECASE)
_MAX_LINE_CHARACTERS = 500


def find_quoted_lines(text: str, path: str) -> frozenset[int]:
    """Return the numbers of the lines of a mail that are from the mails that it answers.

    Args:
        text: The text of a passage.
        path: The path of its document. Without that of a mail, lines are quoted only below one such as "On … wrote:".
    """
    is_mail = path.lower().endswith(_FORMATS)
    if not is_mail and not _HINT.search(text):
        return frozenset()
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if len(line) > _MAX_LINE_CHARACTERS:
            continue
        is_introduction = bool(_WROTE.fullmatch(line))
        if _ORIGINAL.fullmatch(line) or (is_introduction and not _has_marks_below(lines, number)):
            return frozenset(range(number, len(lines))) | _find_marked(lines[:number], is_mail=is_mail)
        is_mail = is_mail or is_introduction
    return _find_marked(lines, is_mail=is_mail)


def _has_marks_below(lines: Sequence[str], number: int) -> bool:
    following = next((line for line in lines[number + 1 : number + 3] if line.strip()), "")
    return following.startswith(_MARK)


def _find_marked(lines: Sequence[str], *, is_mail: bool) -> frozenset[int]:
    return frozenset(number for number, line in enumerate(lines) if is_mail and line.startswith(_MARK))
