"""Whether a question asks who holds an office, and a text only mentions it: "repacked by the parachute officer"."""

import re

from .company_names import has_name

_MAX_QUESTION, _MAX_TEXT = 500, 2_000
# "Who is the officer?" and "Who was elected chair?". German is not examined: all its nouns look like names.
_ASKS_FOR_PERSON = re.compile(
    r"\bwho(?:['’]s| is| was| will be| has been)(?: (?:appointed|as|chosen|elected|named|our|the|your)){1,3}"
    r" (?P<en>[^?]{3,60})"
    r"|\bqui (?:est|était|a été)(?: élue?| nommée?)?(?: comme)? (?:l['’]|(?:le|la|notre|votre) )(?P<fr>[^?]{3,60})"
    r"|\bquién (?:es|fue|era)(?: elegid[oa]| nombrad[oa])? (?:como|el|la|su) (?P<es>[^?]{3,60})"
    r"|\bchi (?:è|era|è stat[oa])(?: elett[oa]| nominat[oa])? (?:l['’]|(?:come|il|la|lo) )(?P<it>[^?]{3,60})"
    r"|\bquem (?:é|era|foi)(?: eleit[oa])? [ao] (?P<pt>[^?]{3,60})"
    r"|\bwie (?:is|was|werd) (?:de|het|jullie|onze) (?P<nl>[^?]{3,60})",
    re.IGNORECASE,
)
# The office ends before these: "chair at the meeting".
_END_OF_OFFICE = re.compile(
    r"\s(?:à|at|au|by|d['’]|da|de|del|della|des|di|do|du|en|for|from|in|of|on|per|since|that|to|van|voor|who|with)\b"
    r"|[^\w\s’'-]",
    re.IGNORECASE,
)
# "The officer is the eldest member", "Officer: the eldest member", "the eldest member, as officer".
_SAYS_BEHIND = re.compile(r"\W{0,3}(?:[:|—–(,]|\b(?:are|is|was|were|will|est|sera|es|fue|è|sarà|é|será|is|wordt)\b)")
_SAYS_BEFORE = re.compile(
    r"\b(?:are|as|becomes?|being|is|comme|est|como|es|come|è|é|als)(?: \w+){0,2} \Z", re.IGNORECASE
)
_MAX_CHARACTERS_BEFORE = 40
_CODE = re.compile(r"\b[A-Z]{1,5}[ -]?\d+")


def lacks_person(question: str, text: str) -> bool:
    """Return whether a question asks who holds an office, and a text mentions it, but no name, nor who it is.

    Args:
        question: The question.
        text: The quotes.
    """
    office, text = _asked_office(question), text[:_MAX_TEXT]
    places = list(re.finditer(rf"\b{re.escape(office)}\b", text, re.IGNORECASE)) if office else []
    return bool(places) and not (
        _may_have_name(question, text)
        or any(
            _SAYS_BEHIND.match(text, place.end())
            or _SAYS_BEFORE.search(text[max(0, place.start() - _MAX_CHARACTERS_BEFORE) : place.start()])
            for place in places
        )
    )


def may_lack_person(question: str, text: str) -> bool:
    """Return whether a question asks who holds an office, and a text has no name: "the eldest member" may be an answer.

    Args:
        question: The question.
        text: The quotes.
    """
    return bool(_asked_office(question)) and not _may_have_name(question, text[:_MAX_TEXT])


def _asked_office(question: str) -> str:
    """Return the last word of the office whose holder is asked for; empty if none is."""
    match = _ASKS_FOR_PERSON.search(question[:_MAX_QUESTION])
    office = next(filter(None, match.groups()), "") if match else ""
    return next(reversed(_END_OF_OFFICE.split(office)[0].split()), "")


def _may_have_name(question: str, text: str) -> bool:
    return has_name(_CODE.sub("", text), question[:_MAX_QUESTION])
