"""Quotes about other years than the one that a question names: "the levy in 2025", answered by that of 2024."""

import re
from collections.abc import Sequence

from rag.pipeline.answering.extractive.question.question_type import is_yes_or_no
from rag.pipeline.retrieval.query.split_clauses import asking_clauses
from rag.text.function_words import ALL_FUNCTION_WORDS
from rag.text.quantities.quantity_words import MONTHS
from rag.text.quantities.years import LIKELY_YEAR
from rag.text.words import content_words, stem
from rag.types import Passage

_YEAR = re.compile(rf"(?<!\d)(?<!\d[,'’]){LIKELY_YEAR}(?!\d|[.,]\d)")
# Not in "prices_2027.pdf", which names a file.
_ASKED_YEAR = re.compile(rf"(?<![\w-]){LIKELY_YEAR}(?![\w.]\w)")
_WORD = re.compile(r"\w+")
_MONTHS = frozenset(month for months in MONTHS.values() for month in months)
# "2024-2025", "2024/25": a season, or the year of a school.
_SEASON = re.compile(rf"(?<![\d/–-])({LIKELY_YEAR}) ?[/–-] ?(?:20)?(\d\d)(?![\d/–-])")
_PREVIOUS = re.compile(
    r"\b(?:before|earlier|last|previous|vorher\w*|vorige\w*|vorjahr\w*|vorsaison|dernière|précédent\w*|anterior\w*"
    r"|pasad[oa]|precedente|scors[oa]|passad[oa]|vorig\w*)\b",
    re.IGNORECASE,
)
# Of a year that nothing mentions, what things cost today says nothing: "What did the card cost in 2019?".
_ASKS_FOR_PAST_AMOUNT = re.compile(
    r"\b(?:how (?:high|much) (?:did|was|were)|what (?:did .{1,80} cost|(?:was|were) the (?:[\w-]+ ){0,3}"
    r"(?:cost|fare|fee|price|rent)s?)|was kosteten?|wie (?:hoch|teuer) war(?:en)?|combien (?:a|ont|coûtai\w+)"
    r"|quel(?:le)?s? étai(?:t|ent)"
    r"|cuánto (?:costab\w+|costó|fue)|quanto (?:costav\w+|custav\w+|custou|è costat[oa])|(?:hoeveel|wat) kostten?)\b",
    re.IGNORECASE,
)
_MAX_QUESTION, _MAX_TEXT = 500, 2_000
_MAX_WORDS_BETWEEN = 3
_MAX_CHARACTERS_BEFORE, _MAX_CHARACTERS_BEHIND = 25, 15
# "Since 2019" is about all later years, "until 2024" about earlier ones, and what happens every year about both.
_SINCE = re.compile(
    r"\b(?:since|from|as of|after|at least|minimum|seit|ab|von|nach|mindestens|depuis|dès|à partir|desde|a partir"
    r"|a partire|almeno|dal|dall['’]anno|pelo menos|minstens|sinds|vanaf)\b",
    re.IGNORECASE,
)
_OR_LATER = re.compile(
    r"\s?\+|\W{0,2}(?:\w+ )?(?:later|newer|higher|above|up|onwards?|neuer|später|supérieur|ultérieur|posterior"
    r"|successiv|superior|hoger|nieuwer)",
    re.IGNORECASE,
)
_UNTIL = re.compile(
    r"\b(?:until|till?|before|by|up to|to|through|end of|bis|vor|spätestens|jusqu['’]\w+|avant|hasta|antes|entro|fino"
    r"|prima d(?:el|i)|até|tot|uiterlijk|voor)\b|\d ?[–/-] ?\Z",
    re.IGNORECASE,
)
_OR_EARLIER = re.compile(
    r"\W{0,2}(?:\w+ )?(?:earlier|older|früher|älter|antérieur|anterior|precedent"
    r"|eerder)",
    re.IGNORECASE,
)
# "Every year", "the following year" and "compared with 2005" are about more years than the one that is named.
_MORE_YEARS = re.compile(
    r"\b(?:(?:every|each|next|previous|following|last) year|year (?:before|earlier|later|after)|annually|compared"
    r"|relative to|(?:for|within|after) \w+ years|jährlich|jede[ns]? jahr|vorjahr\w*|folgejahr\w*"
    r"|(?:auf|für|nach) \w+ jahren?|gegenüber|chaque année|tous les ans|année (?:précédente|suivante)|par rapport"
    r"|pour \w+ ans|cada año|año (?:anterior|siguiente)|respecto|por \w+ años"
    r"|ogni anno|annualmente|anno (?:precedente|scorso|seguente|successivo)|rispetto|(?:dopo|entro|per) \w+ anni"
    r"|todos os anos|anualmente|ano (?:anterior|passado|seguinte)|em relação|por \w+ anos"
    r"|(?:elk|ieder|volgend|vorig) jaar|jaarlijks|vergeleken|(?:binnen|na|voor) \w+ jaar)\b",
    re.IGNORECASE,
)
# What was decided or changed in a year lasts: "The fee was raised to 60 euros in 2023".
_DECIDED = re.compile(
    r"\b(?:adopted|agreed|appointed|changed|decided|elected|fixed|further notice|hired|raised|replaced|still valid|set"
    r"|unchanged|beschlossen|erhöht|festgelegt|gewählt|geändert|adoptée?|augmentée?|élue?|fixée?|nommée?"
    r"|elegid[oa]|fijad[oa]|nombrad[oa]|subió|approvat[aeio]|aumentat[aeio]|decis[aeio]|elett[aeio]|fissat[aeio]"
    r"|modificat[aeio]|nominat[aeio]|alterad[oa]|aprovad[oa]|aumentad[oa]|decidid[oa]|eleit[oa]|fixad[oa]|nomead[oa]"
    r"|benoemd|besloten|gekozen|gewijzigd|goedgekeurd|vastgesteld|verhoogd)s?\b",
    re.IGNORECASE,
)
# "What has changed since 2019?", "machines built before 2015": other years are asked for.
_ASKS_FOR_LATER = re.compile(
    r"\b(?:since|after|from|between|seit|nach|ab|zwischen|depuis|après|entre|dès|desde|después de|dal|dopo|tra|fra"
    r"|após|depois de|sinds|vanaf|tussen)\W(?:\w+ )?\Z",
    re.IGNORECASE,
)
_ASKS_FOR_EARLIER = re.compile(
    r"\b(?:before|until|till|by|besides|between|bis|vor|zwischen|avant|jusqu['’]\w+|entre|hasta|antes de"
    r"|prima del|entro il|fino al|tra|fra|até|tot|tussen|voor)\W(?:\w+ )?\Z",
    re.IGNORECASE,
)


def is_about_other_years(query: str, text: str, gaps: Sequence[str], passage: Passage | None = None) -> bool:
    """Return whether a question names a year, and a text is only about earlier or only about later ones.

    The years of a text must be next to its subject: that when it was written ("last changed in 2023") says nothing of
    what it is about. Those in the title and the file name of its document say so.

    Args:
        query: The question.
        text: The quotes and the headings right above them.
        gaps: The phrases of the question that no passage mentions.
        passage: The passage of the first quote. A year that it does not mention is not that of the quotes, though other
            passages may have it.
    """
    query, text = query[:_MAX_QUESTION], text[:_MAX_TEXT]
    label = f"{passage.title}\n{passage.path}" if passage else ""
    if _is_of_other_season(query, text, label) or _is_past_amount(query, text, gaps):
        return True
    sought = [int(year) for gap in gaps for year in _YEAR.findall(gap)] or _years_of_other_passages(
        query, label, passage
    )
    years, labels = list(_YEAR.finditer(text)), [int(year) for year in _YEAR.findall(label)]
    if (
        not (sought and (years or labels))
        or is_yes_or_no(query)
        or _MORE_YEARS.search(text)
        or _tells_of_decision(text)
    ):
        return False
    numbers, named = [*map(_number, years), *labels], list(_YEAR.finditer(query))
    if max(numbers) < min(sought):
        may_answer = _is_near(query, named, _ASKS_FOR_EARLIER) or _is_still_so(text, years)
    elif min(numbers) > max(sought):
        may_answer = _is_near(query, named, _ASKS_FOR_LATER) or _was_so_before(text, years, labels)
    else:
        may_answer = True
    return not may_answer and (bool(labels) or _is_next_to_subject(query, text))


def _is_of_other_season(query: str, text: str, label: str) -> bool:
    """Return whether a question names a season, and a text only has other ones.

    They share a year: 2024 is part of both 2023/24 and 2024/25. A text about a later season may also tell of "the
    previous one".
    """
    sought, seasons = set(_seasons(query)), set(_seasons(f"{text}\n{label}"))
    if not (sought and seasons) or not sought.isdisjoint(seasons) or is_yes_or_no(query) or _MORE_YEARS.search(text):
        return False
    if max(sought) < min(seasons) and _PREVIOUS.search(text):
        return False
    years = {int(year) for year in _YEAR.findall(_SEASON.sub(" ", text))}
    return years.isdisjoint(year for season in sought for year in (season, season + 1)) and not _tells_of_decision(text)


def _seasons(text: str) -> list[int]:
    """Return the years in which the seasons begin that a text names."""
    return [int(year) for year, end in _SEASON.findall(text) if (int(year) + 1) % 100 == int(end)]


def _is_past_amount(query: str, text: str, gaps: Sequence[str]) -> bool:
    """Return whether a question asks for an amount in a past year that no passage mentions, and a text has no year."""
    has_gap = any(_YEAR.fullmatch(gap.strip()) for gap in gaps)
    return has_gap and bool(_ASKS_FOR_PAST_AMOUNT.search(query)) and not _YEAR.search(text)


def _number(year: re.Match[str]) -> int:
    return int(year.group())


def _is_still_so(text: str, years: Sequence[re.Match[str]]) -> bool:
    """Return whether a text is about the time since a year, and not only from one year to another."""
    is_over = _is_near(text, [max(years, key=_number)], _UNTIL) if len(years) > 1 else False
    return not is_over and _is_near(text, years, _SINCE, _OR_LATER)


def _was_so_before(text: str, years: Sequence[re.Match[str]], labels: Sequence[int]) -> bool:
    """Return whether a text is about the time until a year, and not only from one year to another.

    In a document of 2026 a year such as that of "send it before 31 January 2026" is no such end.
    """
    has_beginning = _is_near(text, [min(years, key=_number)], _SINCE) if len(years) > 1 else False
    ends = [year for year in years if _number(year) not in labels]
    return not has_beginning and _is_near(text, ends, _UNTIL, _OR_EARLIER)


def _years_of_other_passages(query: str, label: str, passage: Passage | None) -> list[int]:
    """Return the years that a question asks about, if the passage has none of them.

    What a document of an earlier year says of them elsewhere does not count: "See the price list of 2025".
    """
    if passage is None:
        return []
    sought = {int(year) for clause in asking_clauses(query) for year in _ASKED_YEAR.findall(clause)}
    named = {int(year) for year in _YEAR.findall(label)}
    if sought and named and max(named) < min(sought):
        return sorted(sought)
    known = named | {int(year) for year in _YEAR.findall(passage.text_with_headings)}
    return sorted(sought) if sought.isdisjoint(known) else []


def _tells_of_decision(text: str) -> bool:
    """Return whether a line of a text has a year, and tells that something was decided or changed."""
    return any(_DECIDED.search(line) for line in text.splitlines() if _YEAR.search(line))


def _is_near(
    text: str, years: Sequence[re.Match[str]], before: re.Pattern[str], behind: re.Pattern[str] | None = None
) -> bool:
    """Return whether words are before or behind one of the years."""
    return any(
        before.search(text[max(0, year.start() - _MAX_CHARACTERS_BEFORE) : year.start()])
        or (behind and behind.match(text[year.end() : year.end() + _MAX_CHARACTERS_BEHIND]))
        for year in years
    )


def _is_next_to_subject(query: str, text: str) -> bool:
    """Return whether a word of the question is next to a year. Numbers, months and function words do not count."""
    subjects = {stem(word, "") for word in content_words(query, "") if not word[0].isdigit()}
    words = [
        word
        for word in map(str.lower, _WORD.findall(text))
        if _YEAR.fullmatch(word) or not (word[0].isdigit() or word in _MONTHS or word in ALL_FUNCTION_WORDS)
    ]
    return any(
        stem(neighbour, "") in subjects
        for index, word in enumerate(words)
        if _YEAR.fullmatch(word)
        for neighbour in words[max(0, index - _MAX_WORDS_BETWEEN) : index + _MAX_WORDS_BETWEEN + 1]
    )
