"""Whether a question asks for the name of a company, and a text has none: "Which company removes the sludge?"."""

import re

from rag.text.function_words import ALL_FUNCTION_WORDS
from rag.text.quantities.quantity_words import DAYS, MONTHS
from rag.text.words import split_words, stem

_MAX_QUESTION, _MAX_TEXT = 500, 2_000
_NAMED = "airline|bank|brand|company|firm|insurer|manufacturer|newspaper|publisher|supplier|university"
# "Which bank charges are refunded?" does not ask for a bank.
_NO_COMPOUND = (
    r"(?! [^\W\d_]{2,20} (?:appl(?:y|ies)|are|can|could|counts?|did|do|does|has|have|is|may|must|should|was|were|will"
    r"|would)\b)"
)
_ASKS_FOR_NAME = re.compile(
    rf"\b(?:which|what|what (?:is|was|are|were) the names? of (?:the|our|your)) (?:insurance )?(?:{_NAMED})\b"
    rf"{_NO_COMPOUND}|\bquelle (?:banque|entreprise|marque|société)\b|\bqué (?:banco|empresa|marca)\b"
    r"|\b(?:che|quale) (?:azienda|banca|ditta|impresa|marca|società)\b|\b(?:que|qual) (?:banco|empresa|marca)\b"
    r"|\bwelke? (?:bank|bedrijf|firma|merk)\b",
    re.IGNORECASE,
)
# "The firm is called heron", "a company from the village" are answers, too.
_DESCRIBED = re.compile(
    rf"\b(?:called|local|named|various|appel\w+|llam\w+|(?:{_NAMED}) (?:of|that|which|who|in|at|from|near|where|with)"
    r"|(?:banque|entreprise|société|banco|empresa) d(?:e|el|u)|entreprises|sociétés|empresas|chiama\w*|chama\w*"
    r"|(?:azienda|banca|ditta|impresa|società) d(?:el\w*|i)|aziende|ditte|genaamd|heet|heten"
    r"|(?:bank|bedrijf|firma) (?:die|dat|in|uit|van)|bedrijven)\b",
    re.IGNORECASE,
)
# Every word of two letters or more, with its hyphens and apostrophes: "O'Reilly".
_WORD = re.compile(r"(?<![\w’'-])[^\W\d_](?:[^\W\d_]|[’'-](?=[^\W\d_]))+")
_BEHIND_START = re.compile(r"(?:\A|[\n.!?•*\"“„(])\W{0,3}\Z")
# What names things other than companies: `code`, "quotations", files.txt, a_setting and AX5.
_OTHER_NAME = re.compile(r"[`\"“„«_@]|\w\.[a-z]|[A-ZÀ-ÖØ-Þ]{2}|[^\W\d_]\d")
# "Any company", "our own", "none" are answers without a name.
_ANY = re.compile(
    r"\b(?:any|all|both|each|every|no|none|nobody|own|whatever|whichever|aucune?|chaque|propre|tou(?:te)?s|cada"
    r"|cualquiera?|ningun\w*|propi[oa]s?|tod[oa]s|nessun\w*|ogni|propri[aeio]|qualsiasi|tutt[ei]|nenhum\w*|própri[oa]s?"
    r"|qualquer|soci|sócios|volontari|eigen|leden|zelf|elke?|geen)\b",
    re.IGNORECASE,
)
_NO_NAMES = frozenset({*DAYS, *(month for months in MONTHS.values() for month in months)})


def lacks_name(question: str, text: str) -> bool:
    """Return whether a question asks for the name of a company or brand, and a text surely has none.

    In German all nouns look like names, so a text with nouns may have one.

    Args:
        question: The question.
        text: The quotes and the headings right above them.
    """
    question, text = question[:_MAX_QUESTION], text[:_MAX_TEXT]
    if not _ASKS_FOR_NAME.search(question):
        return False
    return not (any(pattern.search(text) for pattern in (_ANY, _OTHER_NAME, _DESCRIBED)) or has_name(text, question))


def has_name(text: str, question: str) -> bool:
    """Return whether a text may have a name that the question lacks: a word with a capital letter, or any in Arabic."""
    return _has_letters_without_case(text) or _has_new_capital(text, question)


def _has_letters_without_case(text: str) -> bool:
    """Return whether a text is in a script such as Chinese or Arabic, where names look like other words."""
    return any(letter.isalpha() and letter.lower() == letter.upper() for letter in text)


def _has_new_capital(text: str, question: str) -> bool:
    """Return whether a text has a word with a capital letter that the question lacks."""
    known = {stem(word, "") for word in split_words(question)}
    return any(_may_be_name(word, known) for word in _WORD.finditer(text))


def _may_be_name(word: re.Match[str], known: set[str]) -> bool:
    """Return whether a word may be a name: not "The" at the beginning of a sentence, nor "Bins" in "Bins: …"."""
    lower = word.group().lower()
    if not word.group()[0].isupper() or lower in _NO_NAMES or stem(lower, "") in known:
        return False
    if not _BEHIND_START.search(word.string[max(0, word.start() - 5) : word.start()]):
        return True
    return lower not in ALL_FUNCTION_WORDS and not word.string.startswith(":", word.end())
