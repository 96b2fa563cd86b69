"""What a question asks for."""

import re

# By the words with which such questions begin, in English, German, French and Spanish.
_NUMBER_QUESTION = re.compile(
    r"\b(?:how (?:many|much|long|often|large|big|heavy|high|old|far|fast|late|early|tall|wide|deep|soon)|when"
    r"|what (?:does|do|did) .{1,80} cost|what (?:is|was|are) the (?:price|cost|number|size|length|weight|year|date)"
    r"|what time|which (?:version|year|day|date)|wie (?:viel|viele|lange|oft|hoch|groß|alt|schwer|weit)|wann|was kostet"
    r"|combien|quand|à quelle heure|cuánto|cuánta|cuántos|cuántas|cuándo)\b",
    re.IGNORECASE,
)


def asks_for_number(question: str) -> bool:
    """Return whether a question asks for a number, an amount, a price or a time."""
    return bool(_NUMBER_QUESTION.search(question[:500]))
