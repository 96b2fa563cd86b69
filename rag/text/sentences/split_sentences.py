"""Splits texts into sentences.

`split_sentences` and `sentence_spans` look only at punctuation and line breaks. `quotable_sentence_spans` also knows
abbreviations, ordinals and footnotes, because people read its sentences as quotes.
"""

import re
from collections.abc import Iterator
from itertools import pairwise

from rag.text import languages
from rag.text.words import is_function_word

# Possessive and anchored at the start of a run, so that matching takes linear time.
SENTENCE_END = re.compile(r"(?<![.!?؟])[.!?؟]++[\"'”’)\]]*+\s++|[。！？]++\s*+")
# "14.1. Can I sell it?", "Chapter 2. Tea", "**3. Money.**": the number of a title belongs to it.
_TITLE_NUMBER = re.compile(
    r"[*_]{0,3}(?:chapter|section|part|kapitel|abschnitt|teil|chapitre|capítulo|capitolo|sezione"
    r"|secção|seção|hoofdstuk|paragraaf)?\s*(?:\d{1,3}\.)*\d{1,3}",
    re.IGNORECASE,
)
_FOOTNOTE = r"\[(?:\d{1,3}|[a-z ]{1,30} needed)\]"
_QUOTABLE_END = re.compile(
    rf"(?<![.!?؟])[.!?؟]++[\"'”’»)\]*_]*+(?P<footnotes>(?:{_FOOTNOTE})*)(?=\s)|[。！？]++[」』”’）]*+"
)
_FOOTNOTES = re.compile(rf"(?:{_FOOTNOTE})+$")
_LAST_WORD = re.compile(r"(?:[^\W\d_]\.)*[^\W_]+$")
_INITIALS = re.compile(r"(?:[A-Z]\.)+[A-Z]")
_ABBREVIATIONS = re.compile(
    r"(?:dr|dra|drs|ing|mr|mrs|ms|mgr|lt|col|maj|capt|sgt|messrs|prof|st|no|nos|v|lit|fig|figs|eq|sec|ch|vol|pp|al"
    r"|inc|ltd|co|corp|jr|sr|vs|cf|approx|dept|est|gen|gov|hon"
    r"|rev|tel|tél|tlf|ext|mio|mrd|e\.g|i\.e|nr|abs|art|bd|bzw|ca|evtl|ggf|inkl|sog|str|usw|vgl|z\.b|u\.a|d\.h|mme"
    r"|mlle|av|sra|srta|núm|dott|pag|bijv|blz|avda|ctra|pág|págs|aprox|zzgl|exkl|einschl|sig|sigg|ecc|avv|artt|spett"
    r"|exmo|exma|arq|dhr|mevr|(?-i:bv)|enz|incl|excl|ул|просп|пер|пл|им|тел|проф|акад|доц|т\.е|т\.к|p\.es|p\.ex|c\.a|o\.a|d\.w\.z|m\.b\.t|t\.a\.v|t\.n\.v)",
    re.IGNORECASE,
)
# Abbreviations only before a number, because they are also words, or end sentences: "max. 3 kg", "Fr. 9 bis 12 Uhr".
_BEFORE_NUMBERS = re.compile(
    r"(?:max|min|máx|mín|jan|feb|apr|jun|jul|aug|sept?|o[kc]t|nov|de[zc]|(?-i:Mo|Di|Mi|Do|Fr|Sa|So)"
    r"|д|кв|корп|стр|рис|табл|ст|оф|каб|п)",
    re.IGNORECASE,
)
# In English these are words that end sentences: "Never mind. 3 are enough."
_BEFORE_NUMBERS_ELSEWHERE = re.compile(r"mind|std|stk|env|fev|abr|mrt|giu|lug|ago|ott|dic", re.IGNORECASE)


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, without the white space between them. A line break ends a sentence."""
    return [text[start:end] for start, end in sentence_spans(text)]


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of each sentence, as character offsets."""
    spans, line_start = [], 0
    for line in text.splitlines(keepends=True):
        ends = [match.end() for match in SENTENCE_END.finditer(line)]
        for start, end in pairwise([0, *ends, len(line)]):
            sentence = line[start:end]
            if stripped := sentence.strip():
                sentence_start = line_start + start + len(sentence) - len(sentence.lstrip())
                spans.append((sentence_start, sentence_start + len(stripped)))
        line_start += len(line)
    return spans


def quotable_sentence_spans(text: str, start: int, end: int, lang: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of each sentence in this range of a text, without footnote marks."""
    is_english = (languages.snowball_algorithm(lang) or "english") == "english"
    sentence_start = start
    for match in _QUOTABLE_END.finditer(text, start, end):
        if _is_inside_sentence(text, match, end, is_english) or _TITLE_NUMBER.fullmatch(
            text, sentence_start, match.start()
        ):
            continue
        yield sentence_start, match.start("footnotes") if match["footnotes"] else match.end()
        sentence_start = match.end()
        while sentence_start < end and text[sentence_start].isspace():
            sentence_start += 1
    footnotes = _FOOTNOTES.search(text, max(sentence_start, end - 50), end)
    last_end = footnotes.start() if footnotes else end
    if last_end > sentence_start:
        yield sentence_start, last_end


def _is_inside_sentence(text: str, mark: re.Match[str], end: int, is_english: bool) -> bool:
    """Return whether a full stop is inside a sentence: before a small letter, after an initial or an abbreviation."""
    following = text[mark.end() : min(end, mark.end() + 20)].lstrip()
    if following and following[0].islower():
        return True
    match = _LAST_WORD.search(text, max(0, mark.start() - 12), mark.start()) if mark.group() == "." else None
    if match is None:
        return False
    word = match.group()
    if word.isdigit():  # ordinals such as the German "am 3. Oktober"
        return not is_english and len(word) <= 2
    if following[:1].isdigit() and (
        _BEFORE_NUMBERS.fullmatch(word) or (not is_english and _BEFORE_NUMBERS_ELSEWHERE.fullmatch(word))
    ):
        return True
    if _INITIALS.fullmatch(word):  # "the U.S. Arsenal", but not "in the U.S. They left"
        return not _is_function_word(following)
    return bool(_ABBREVIATIONS.fullmatch(word)) or (len(word) == 1 and word.isupper())


def _is_function_word(following: str) -> bool:
    return bool(following) and is_function_word(following.split()[0].lower())
