"""Sentences that only say where to read on, or what a text is about: they are not answers."""

import re

# A link in Markdown or reStructuredText, or an address.
_LINK = (
    r"(?:\[[^\[\]]{1,200}\](?:\([^()\s]{0,300}\)|\[[^\[\]]{0,100}\])|:[\w:.+-]{1,60}:`[^`]{1,200}`|`[^`]{1,200}`__?"
    r"|https?://\S{1,300})"
)
# "See [Send documents](send-documents.md)."
_POINTER = re.compile(
    r"(?:please )?(?:see|read|refer to|siehe|voir|véase|vedi|veja|ver|zie)(?: also| auch| aussi| anche| também"
    r"| ook)?(?: the| our)? "
    rf"(?:{_LINK}(?:,? (?:and|or|und|et|y|e|en) )?)+(?: for (?:more |further )?(?:details|information"
    rf"|instructions))?\.?",
    re.IGNORECASE,
)
# "For the details, see the next chapter.", "Learn how to create backups.", "More information is in the manual."
_GUIDE = re.compile(
    r"\W*(?:for [^.]{0,80}, )?(?:please |also )*"
    r"(?:see|refer to|consult|check out|visit|learn (?:more|how|about)|find out (?:more|how)|siehe|lies|vedi|veja"
    r"|zie)\b|\W*(?:more|further|additional|detailed)\b[^.]{0,30}\b(?:information|details?|instructions"
    r"|documentation)\b[^.]{0,40}\b(?:is|are|can be|in|at|on)\b",
    re.IGNORECASE,
)
# "This chapter describes backups.", "The following tutorial demonstrates commands for backups."
_ANNOUNCEMENT = re.compile(
    r"\W*(?:in )?(?:this|these|the following|this following|dieser?|dieses)(?: [\w-]+)? "
    r"(?:section|chapter|page|document|tutorial|guide|part|article|text|abschnitt|kapitel|seite|dokument)s?\b"
    r"[^.]{0,40}\b(?:describe|explain|demonstrate|show|cover|list|discusse?|introduce|beschreib|erklär|zeig)"
    # "The [operations manual](manual.md) says how long they are kept."
    r"|\W*the \[?(?:[\w-]+ ){0,3}(?:documentation|manual|guide|handbook|chapter|page)(?:\]\([^()\s]{0,300}\))? "
    r"(?:says|describes|explains|shows|lists) (?:how|what|which|when|where|why)\b",
    re.IGNORECASE,
)
_MAX_WORDS = 30


def is_pointer(text: str) -> bool:
    """Return whether a sentence has nothing but a link to another place."""
    return bool(_POINTER.fullmatch(text))


def mostly_points(text: str) -> bool:
    """Return whether a sentence seems to say only where to read on, or what a text is about."""
    words = text.split()
    line = " ".join(words)  # without line ends
    return len(words) <= _MAX_WORDS and bool(_GUIDE.match(line) or _ANNOUNCEMENT.match(line))
