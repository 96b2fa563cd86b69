"""Which sections a question names by their numbers: "What does § 3 say?", "Is clause 2.1 binding?"."""

import re

# "5.º" is the fifth in Portuguese and Spanish.
_NUMBER = r"(\d{1,3}(?:\.\d{1,3}){0,4}|[IVXL]{2,7}|[VX])(?:\.?[ºª°])?(?![\w.]*\w)"
_CITATION = re.compile(
    r"(?:§|\b(?:art|article|artikel|artículo|articolo|artigo|section|clause|chapter|abschnitt|ziffer|klausel|kapitel"
    r"|capitolo|clausola|sezione|cap[íi]tulo|cláusula|secção|seção|bepaling|hoofdstuk|paragraaf)"
    rf"\b\.?) {{0,2}}{_NUMBER}",
    re.IGNORECASE,
)
# "## § 3 Fees", "2.1. Dogs", "# Article 4".
_LABEL = re.compile(rf"[#= ]{{0,8}}(?:§ ?|[^\W\d_]{{1,20}}\.? )?{_NUMBER}")
_MAX_CHARACTERS = 1_000


def find_cited_sections(question: str) -> frozenset[str]:
    """Return the numbers of the sections that a question names."""
    return frozenset(map(str.upper, _CITATION.findall(question[:_MAX_CHARACTERS])))


def without_cited_sections(question: str) -> str:
    """Return a question without "§ 3" and "section 3"; the offsets of the other words stay."""
    return _CITATION.sub(lambda match: " " * len(match[0]), question[:_MAX_CHARACTERS]) + question[_MAX_CHARACTERS:]


def section_number(heading: str) -> str:
    """Return the number that a heading or clause begins with; empty if it has none."""
    label = _LABEL.match(heading)
    return label[1] if label else ""
