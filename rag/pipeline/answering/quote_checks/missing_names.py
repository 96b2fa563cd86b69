"""Whether a question asks for a name, and a text has none: "Which company removes the sludge?"."""

import re

from rag.text.quantities.quantity_words import DAYS, MONTHS

_MAX_QUESTION, _MAX_TEXT = 500, 2_000
_ASKS_FOR_NAME = re.compile(
    r"\bwhat (?:is|was|are|were) the names? of\b|\b(?:le nom|el nombre) del?\b|\bcomment s['’]appelle|\bcómo se llama"
    r"|\b(?:which|what) (?:insurance )?(?:airline|bank|brand|company|court|firm|insurer|manufacturer|newspaper"
    r"|publisher|supplier|university)\b|\bquelle (?:banque|entreprise|marque|société)\b"
    r"|\bqué (?:banco|empresa|marca)\b",
    re.IGNORECASE,
)
# "The rooms are called heron and swan", "the court of the district" are answers, too.
_DESCRIBED = re.compile(
    r"\b(?:called|named|appel\w+|llam\w+|(?:airline|bank|brand|company|court|firm|insurer|manufacturer|newspaper|publisher"
    r"|supplier|university) (?:of|that|which|who|in|at|near|where|with))\b",
    re.IGNORECASE,
)
_CAPITALIZED = re.compile(r"(?<![\w’'-])[A-ZÀ-ÖØ-Þ][^\W\d_]+")
_BEHIND_START = re.compile(r"(?:\A|[\n.!?:•*\"“„(])\W{0,3}\Z")
_ROW_NAME = re.compile(r"^- [A-ZÀ-ÖØ-Þ][\w ]{1,40} —", re.MULTILINE)
# What names things other than people and companies: `code`, "quotations", files.txt, a_setting and AX5.
_OTHER_NAME = re.compile(r"[`\"“„«_@]|\w\.[a-z]|[A-ZÀ-ÖØ-Þ]{2}|[^\W\d_]\d")
# "Any company", "our own", "none" are answers without a name.
_ANY = re.compile(
    r"\b(?:any|all|both|each|every|no|none|nobody|own|whatever|whichever|aucune?|chaque|propre|tou(?:te)?s|cada|cualquiera?"
    r"|ningun\w*|propi[oa]s?|tod[oa]s)\b",
    re.IGNORECASE,
)
_NO_NAMES = frozenset({*DAYS, *(month for months in MONTHS.values() for month in months)})


def lacks_name(question: str, text: str) -> bool:
    """Return whether a question asks for a name, and a text surely has none.

    In German all nouns look like names, so a text with nouns may have one.
    """
    text = text[:_MAX_TEXT]
    if not _ASKS_FOR_NAME.search(question[:_MAX_QUESTION]):
        return False
    is_answered = any(pattern.search(text) for pattern in (_ANY, _OTHER_NAME, _DESCRIBED))
    return not is_answered and not has_name(text, question[:_MAX_QUESTION])


def has_name(text: str, question: str) -> bool:
    """Return whether a text may have a name that the question lacks: a capital letter within a sentence, or a row."""
    known = {*map(str.lower, _CAPITALIZED.findall(question)), *_NO_NAMES}
    return bool(_ROW_NAME.search(text)) or any(
        match.group().lower() not in known
        and not match.group().isupper()
        and not _BEHIND_START.search(text[max(0, match.start() - 5) : match.start()])
        for match in _CAPITALIZED.finditer(text)
    )
