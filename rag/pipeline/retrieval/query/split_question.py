"""Two questions in one: "Where are the logs, and how do I delete them?", "How do I create a team and rename it?"."""

import re

from rag.text.question_language import is_english
from rag.text.words import is_function_word, split_words

_MAX_CHARACTERS = 500
QUESTION_WORDS = (
    r"(?:how|what|when|where|which|who|whom|whose|why|wie|was|wann|wo|wohin|woher|welche[mnrs]?|wer|wen|wem|warum"
    r"|comment|que|quoi|quand|où|quel(?:le)?s?|qui|pourquoi|cómo|qué|cuándo|dónde|cuál(?:es)?|quién"
    r"|(?:dov|com|cos)['’]è|che cosa|cosa (?:devo|posso|bisogna|succede)|quando|perché|quali?|quant[aeio]s?|onde"
    r"|o que|por que|porquê|quais|quem|wanneer|waarom|waar|wat"
    r"|welke?|hoeveel)"
    r"\b"
)
# These are other words of English, Spanish or French, so they are question words only where a question begins.
FIRST_QUESTION_WORDS = r"(?:come|cosa|chi|dove|como|porque|hoe)\b"
# What a question begins with that "yes" or "no" answers.
AUXILIARIES = r"(?:can|could|may|must|should|do|does|is|are|will) \w"
# "Where is it and what does it cost?": between two whole questions.
_BETWEEN_QUESTIONS = re.compile(
    rf"[,;]?\s+(?:(?:and|und|et|y)\s+(?={QUESTION_WORDS})|e\s+(?=(?:{QUESTION_WORDS}|{FIRST_QUESTION_WORDS}))"
    r"|en\s+(?=(?:hoe|hoeveel|waar|waarom|wanneer|wat|welke?|wie)\b)"
    rf"|(?:and|or)\s+(?={AUXILIARIES}))|\?\s+(?=\w)",
    re.IGNORECASE,
)
_DETERMINER = r"(?:an?|one|the|my|our|your|their|this|that|another|several|some|all)\b"
_BEGINNING = r"(?:(?:how|where|when)\s+)?(?:do|can|could|may|must|should)\s+(?:i|we|you|one|they)\s+|how\s+to\s+"
_CONJUNCTION = re.compile(r"\b(?:and|or)\b", re.IGNORECASE)
# What two questions have in common is at the beginning:
# - "How do I connect a bucket or a folder?";
_TWO_THINGS = re.compile(
    rf"(?P<beginning>{_BEGINNING})(?P<first>.+?),?\s+(?:and|or)\s+(?P<second>{_DETERMINER}.+)",
    re.IGNORECASE | re.DOTALL,
)
# - "Can I restrict a key to reading only, or to some documents?";
_PREPOSITION = r"(?:to|into|in|onto|on|from|for|with|by|at|over|through)\b"
_TWO_PLACES = re.compile(
    rf"(?P<beginning>{_BEGINNING})(?P<first>.+?),?\s+(?:and|or)\s+(?P<second>(?P<preposition>{_PREPOSITION})\s+.+)",
    re.IGNORECASE | re.DOTALL,
)
# - "Is there an API or command line?";
_ARE_THERE = re.compile(
    r"(?P<beginning>(?:is|are)\s+there\s+(?:(?:an?|any)\s+)?)(?P<first>.+?),?\s+(?:and|or)\s+(?P<second>.+)",
    re.IGNORECASE | re.DOTALL,
)
# - "Can I rename or delete a team?";
_TWO_VERBS = re.compile(
    rf"(?P<beginning>{_BEGINNING})(?P<first>\w+)\s+(?:and|or)\s+(?P<second>\w+)(?P<thing>\s+{_DETERMINER}.+)",
    re.IGNORECASE | re.DOTALL,
)
# - "How do I create a team and rename it?", at least two words before and after "and".
_TWO_ACTIONS = re.compile(
    rf"(?P<beginning>{_BEGINNING})(?P<first>\w+\s+.+?),?\s+and\s+(?:then\s+|also\s+)?(?P<second>\w+\s+\w.*)",
    re.IGNORECASE | re.DOTALL,
)
# "a team" of "How do I create a team for guests?", and "teams" of "How do I set up teams?"
_REST_OF_NOUN = (
    r"(?:(?!\b(?:as|at|by|for|from|in|into|on|over|through|to|via|with|without|that|which|who|is|are|was|were|has|have"
    r"|do|does|come|fail)\b).)+"
)
_NOUN_PHRASE = re.compile(rf"\b(?P<phrase>{_DETERMINER}{_REST_OF_NOUN})", re.IGNORECASE | re.DOTALL)
_OBJECT = re.compile(
    rf"(?:{_BEGINNING})\w+\s+(?:(?:up|out|off|on|in|down)\s+)?(?P<phrase>\w{_REST_OF_NOUN})", re.IGNORECASE | re.DOTALL
)
# "audit entries" of "How long are audit entries kept?"
_SUBJECT = re.compile(
    r"(?:how\s+(?:long|often|soon|many|much)|when|where|why|how)\s+(?:is|are|was|were)\s+(?P<phrase>.+?)\s+\w+(?:ed"
    r"|en|t|n)",
    re.IGNORECASE | re.DOTALL,
)
# "What changes then?" and "Which ones are supported?" cannot be understood alone.
_ASKS_ABOUT_ANSWER = re.compile(r"\bones\b|\b(?:that|this|these|those|then|which)\W*\Z", re.IGNORECASE)
# "How do I get a new one?" asks about the topic of the question before.
_MORE_OF_TOPIC = re.compile(r"\b(?:one|more)\W*\Z", re.IGNORECASE)
# "What is SCIM?", "How much is admission?" and "Is there wifi?" have a topic, and "What is included?" has none.
_TOPIC_AT_END = re.compile(r"\b(?:is|are)\s+(?:there\s+)?(?!\w+(?:ed|en)\b)\w+\W*\Z", re.IGNORECASE)
_MEASURE = re.compile(r"\bhow\s+(?:long|often|soon|far|big|large|old|fast)\b", re.IGNORECASE)
_SINGULAR = re.compile(r"(?:an?|one|this|that|another)\b", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:it|them)\b", re.IGNORECASE)


def split_question(question: str) -> tuple[str, ...]:
    """Split a question that asks two things into two, each of which can be understood alone.

    What both have in common is repeated, and a pronoun in the second one is replaced: "How do I create a team and
    rename it?" becomes "How do I create a team" and "How do I rename a team?".

    Returns:
        The two questions; only the first one if it says what the second one is about; empty if the question asks one
        thing, or if it is unclear what a pronoun in the second one means.
    """
    text = question[:_MAX_CHARACTERS].strip()
    halves = tuple(_BETWEEN_QUESTIONS.split(text))
    if len(halves) == 1:
        halves = tuple(_divide_parts(text))
    if len(halves) != 2 or not all(map(_has_content, halves)) or _ASKS_ABOUT_ANSWER.search(halves[1]):
        return ()
    second = _replace_pronoun(halves[1], halves[0])
    if not all(map(_topic_words, (halves[0], second))):
        return ()
    return halves[:1] if _depends_on_first(*halves) else (halves[0], second)


def _divide_parts(text: str) -> list[str]:
    """Divide what follows a beginning that both questions have."""
    if match := _TWO_VERBS.fullmatch(text):
        beginning, first, second, thing = match.groups()
        return [] if _CONJUNCTION.search(thing) else [beginning + first + thing, beginning + second + thing]
    patterns = (_TWO_PLACES, _ARE_THERE, _TWO_THINGS, _TWO_ACTIONS)
    match = next(filter(None, (pattern.fullmatch(text) for pattern in patterns)), None)
    if not match:
        return []
    beginning, first, second = match["beginning"], match["first"], match["second"]
    if any(map(_CONJUNCTION.search, (first, second))) or re.search(rf"\b{QUESTION_WORDS}", first, re.IGNORECASE):
        return []
    before = ""
    if match.re is _TWO_PLACES:
        before = _before_last(rf"\b(?={match['preposition']}\b)", first)
    elif match.re is _TWO_THINGS:
        before = _before_last(rf"\b(?={_DETERMINER})|\b{_PREPOSITION}\s+(?=\w)", first) or first.split()[0] + " "
    return [beginning + first, beginning + before + second]


def _before_last(pattern: str, text: str) -> str:
    """Return the text up to the end of the last match: "limit a search to " of "limit a search to a folder"."""
    matches = list(re.finditer(pattern, text, re.IGNORECASE))
    return text[: matches[-1].end()] if matches else ""


def _replace_pronoun(question: str, previous: str) -> str:
    """Return the second question with what its pronoun means; empty if this is unclear."""
    pronoun = _PRONOUN.search(question)
    if not pronoun:
        return question
    match = _SUBJECT.fullmatch(previous.rstrip(" ?")) or _NOUN_PHRASE.search(previous) or _OBJECT.match(previous)
    phrase = match["phrase"].strip() if match else ""
    is_plural = phrase.endswith("s") and not _SINGULAR.match(phrase)
    is_clear = bool(phrase) and not _PRONOUN.search(phrase) and not (is_plural and pronoun[0].lower() == "it")
    return _PRONOUN.sub(lambda _: phrase, question, count=1) if is_clear else ""


def _has_content(question: str) -> bool:
    return not all(is_function_word(word) for word in split_words(question))


def _depends_on_first(first: str, second: str) -> bool:
    """Return whether only the first question says what the second one is about: "… and how long should I wait?"."""
    has_few_words = len(_topic_words(second)) < 2 <= len(_topic_words(first)) and not _PRONOUN.search(second)
    has_noun = _NOUN_PHRASE.search(second) or _TOPIC_AT_END.search(second)
    is_vague = has_few_words and is_english(second) and not has_noun
    return is_vague or bool(_MORE_OF_TOPIC.search(second))


def _topic_words(question: str) -> list[str]:
    return [word for word in split_words(_MEASURE.sub("", question)) if not is_function_word(word)]
