"""The clauses of a question: "We moved to a new office, how do I change the address?" has two."""

import re
from collections.abc import Sequence

from rag.text.names import find_names
from rag.text.quantities.numbers import find_numbers
from rag.text.words import content_words, split_words

from .split_question import AUXILIARIES, QUESTION_WORDS

_MAX_CHARACTERS, _MAX_CLAUSES = 500, 2
_CLAUSE_END = re.compile(
    r"(?<=[,.;:?!])\s|\s[–-]\s|\s(?=(?:because|so that|although|though|while|whereas)\b)", re.IGNORECASE
)
_VERBS = r"(?:is|are|was|were|do|does|did|can|could|may|must|should|will|has)\b"
# "When guests arrive" asks nothing, unless it ends with a question mark.
_ASKS = re.compile(
    rf"[¿\s]*(?:(?:and|but|or|so|then) )?(?:(?:how|what|why|wie|warum|comment|pourquoi|cómo|qué|perché|waarom)\b"
    rf"|{AUXILIARIES}|(?:when|where|who|whom|whose|which)(?: \w+)? {_VERBS}|{QUESTION_WORDS}.*\?|(?:come|hoe"
    rf"|como (?:posso|podemos|faço|devo))\b.*\?)",
    re.IGNORECASE | re.DOTALL,
)
_MIN_WORDS, _MIN_CONTENT_WORDS = 4, 2
# "since Monday", "an hour ago"
_TIME = re.compile(
    r"\b(?:(?:since|on|in the|last|this|an?) ){0,2}"
    r"(?:yesterday|today|tonight|tomorrow|(?:mon|tues|wednes|thurs|fri|satur|sun)day|morning|afternoon|evening|night"
    r"|(?:hour|day|week|month) ago)\b",
    re.IGNORECASE,
)


def split_clauses(question: str) -> tuple[str, ...]:
    """Return the clauses of a question; empty if it has only one.

    Args:
        question: The question. Only its first 500 characters count.
    """
    clauses = [clause.strip(" ,;:–-") for clause in _CLAUSE_END.split(question[:_MAX_CHARACTERS])]
    return tuple(filter(None, clauses)) if len(clauses) > 1 else ()


def asking_clauses(question: str) -> tuple[str, ...]:
    """Return the clauses of a question that ask; the whole question if it has only one clause."""
    clauses = split_clauses(question)
    return tuple(filter(_ASKS.match, clauses)) if clauses else (question[:_MAX_CHARACTERS],)


def select_clauses(clauses: Sequence[str], gaps: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the clauses to search for, without the words that no passage mentions.

    Statements tell what happened, or name an example; when it happened is left out, too. If the clauses that ask have
    words that no passage mentions, what a statement is about is no answer to them.

    Args:
        clauses: The clauses of a question.
        gaps: The phrases of the question that no passage mentions.

    Returns:
        The clauses that ask, and the statements, at most two of each. They may be understood alone.
    """
    questions = [clause for clause in clauses if _ASKS.match(clause)]
    has_gap = any(_find(gap).search(clause) for clause in questions for gap in gaps)
    statements = [] if has_gap else [clause for clause in clauses if clause not in questions]
    return _without_gaps(questions, gaps), _without_gaps([_TIME.sub(" ", clause) for clause in statements], gaps)


def _without_gaps(clauses: Sequence[str], gaps: Sequence[str]) -> tuple[str, ...]:
    texts = (_leave_out(clause, gaps) for clause in clauses)
    return tuple(filter(_may_stand_alone, texts))[:_MAX_CLAUSES]


def _leave_out(clause: str, gaps: Sequence[str]) -> str:
    """Return a clause without its gaps; nothing if one is a name or number: then it is about something else."""
    names = {mention.text for mention in (*find_names(clause), *find_numbers(clause))}
    if any(_find(name).search(gap) for gap in gaps for name in names):
        return ""
    for gap in gaps:
        clause = _find(gap).sub(" ", clause)
    return " ".join(clause.split())


def _find(phrase: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)")


def _may_stand_alone(clause: str) -> bool:
    return len(split_words(clause)) >= _MIN_WORDS and len(set(content_words(clause))) >= _MIN_CONTENT_WORDS
