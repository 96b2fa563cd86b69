"""Quotes about another member of a series than the one that a question names: the AV-12 instead of the AV-16."""

import re
from collections.abc import Sequence

from rag.pipeline.retrieval.query.split_clauses import asking_clauses

_MAX_QUESTION, _MAX_TEXT = 500, 2_000
# "AV-16", "C1", "E31": letters and digits.
_CODE = re.compile(r"(?<![\w-])([A-Z]{1,4})[-_]?(\d{1,5})(?![\w-])")
# The same code may be written otherwise: "e12", "E 12", "E012". Other spellings are no reason to see another code.
_SPELLING = re.compile(r"(?<![^\W\d_])([a-z]{1,4})[-_ ]?0{0,3}(\d{1,5})(?!\d)", re.IGNORECASE)
# "What replaced the X90?", "How do I get from the A8 to the hotel?": the answer may well be another one.
_ASKS_FOR_OTHER = re.compile(
    r"\b(?:after|before|from|than|to|vor|nach|von|zu[mr]?|als|avant|après|depuis|antes de|después de|desde|dopo"
    r"|prima d(?:el|i)|após|depois d[aeo]|antes d[ao]|naar|dan)"
    r" (?:(?:the|der|die|das|dem|le|la|el|il|het) )?(?=[a-z]{1,4}[-_]?\d)"
    r"|\b(?:successor|predecessor|replac\w*|differ\w*|compar\w*|compatible|fits?|instead|nachfolge\w*|vorgänger\w*"
    r"|ersetzt|unterschied\w*|passt|passen|statt|remplac\w*|reemplaz\w*|compatibles?|sostitu\w+|compatibil\w+"
    r"|differenz[ae]|substituí\w+|compatíve\w+|diferença\w*|opvolger\w*|vervang\w*|verschil\w*)\b",
    re.IGNORECASE,
)
# "The brackets fit the AV-6 only", "all others", "as on the X90" may say something about the one that is asked for.
_ABOUT_OTHERS = re.compile(
    r"\b(?:above|all|also|any|as|between|both|each|every|except|following|instead|later|like|newer|next|only|opposite"
    r"|others?|replaces|same|see|such as|too|up|alle|andere\w*|auch|außer|jede[nrs]?|neuer|nur|siehe|statt|wie|zwischen"
    r"|aussi|autres?|chaque|comme|sauf|seul\w*|tou(?:te)?s|voir|cada|como|excepto|otr[oa]s?|sol[oa]|también|tod[oa]s"
    r"|altr[aeio]|anche|eccetto|ogni|tranne|tutt[aeio]|outr[oa]s?|exceto|também|alleen|behalve|elke|ook|tussen|zie"
    r"|zoals)\b",
    re.IGNORECASE,
)
_RANGE = re.compile(
    r"(?<![\w-])([A-Z]{1,4})[-_]?\d{1,5} ?(?:to|up to|through|–|-|\.{2,3}|…|bis|à|a|hasta|al|até"
    r"|tot) ?(?:[A-Z]{1,4}[-_]?)?\d"
)
_WORD = re.compile(r"\w+")
# "In line S2 trains run …", but not "Forms are in the office, form F1 …".
_MAX_WORDS_BEFORE, _MAX_CHARACTERS_NEAR = 2, 40


def asks_for_other(query: str) -> bool:
    """Return whether a question asks for something else than what it names: "What replaced the X90?"."""
    return bool(_ASKS_FOR_OTHER.search(query[:_MAX_QUESTION]))


def names_other_code(query: str, text: str, labels: Sequence[str]) -> bool:
    """Return whether a text begins with another code of a series than that of a question, or is below one.

    Args:
        query: The question.
        text: The quotes.
        labels: The title of the first quote's document and the headings above it.
    """
    query, text = query[:_MAX_QUESTION], text[:_MAX_TEXT]
    if asks_for_other(query):
        return False
    shown = "\n".join([text, *labels])
    known = {(letters.upper(), digits) for letters, digits in _SPELLING.findall(shown)}
    sought = {code for clause in asking_clauses(query) for code in _CODE.findall(clause)}
    series = {letters for letters, digits in sought if (letters, digits.lstrip("0") or "0") not in known}
    series -= set(_RANGE.findall(shown))
    others = [code for part in (_start(text), *labels) for code in _CODE.finditer(part) if code[1] in series]
    return bool(others) and not any(map(_is_about_others, others))


def _start(text: str) -> str:
    """Return the first line of a text, if a code is among its first words; otherwise nothing."""
    line = text.lstrip().partition("\n")[0]
    code = _CODE.search(line)
    return line if code and len(_WORD.findall(line[: code.start()])) <= _MAX_WORDS_BEFORE else ""


def _is_about_others(code: re.Match[str]) -> bool:
    """Return whether words next to a code say something about others of its series, too."""
    before = code.string[max(0, code.start() - _MAX_CHARACTERS_NEAR) : code.start()]
    behind = code.string[code.end() : code.end() + _MAX_CHARACTERS_NEAR]
    return bool(_ABOUT_OTHERS.search(before) or _ABOUT_OTHERS.search(behind))
