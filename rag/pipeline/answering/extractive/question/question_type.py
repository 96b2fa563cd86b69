"""What a question asks for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rag.pipeline.retrieval.query.split_question import FIRST_QUESTION_WORDS, QUESTION_WORDS
from rag.text.function_words import ALL_FUNCTION_WORDS
from rag.text.markup.titles.cited_sections import find_cited_sections
from rag.text.quantities.amounts import Amount, find_amounts
from rag.text.quantities.numbers import find_digits, join_thousands
from rag.text.question_language import query_language
from rag.text.words import as_phrase, content_words, split_words

from . import other_scripts
from .answer_patterns import AnswerType
from .answer_types import asks_for_amount, counted_words, expected_answer_type

# "What is a chunk?", "What does INDEX_FULL mean?": what follows is defined.
_DEFINITION_QUESTION = re.compile(
    r"\s*(?:what|who) (?:is|are|was|were) (?:an? |the )?(?P<what>[^?]{2,60})\?*\s*"
    r"|\s*what (?:does|do) (?:an? |the )?(?P<term>[^?]{2,60}) mean\?*\s*"
    r"|\s*was (?:ist|sind) (?:ein |eine |der |die |das )?(?P<was>[^?]{2,60})\?*\s*"
    r"|\s*(?:(?:che )?cos['’]è|(?:che )?cosa (?:è|sono)) (?:un[oa]? |un['’]|il |l[oaei] |gli "
    r"|l['’])?(?P<cosa>[^?]{2,60})\?*\s*|\s*o que (?:é|são) (?:uma? |[oa]s? )?(?P<que>[^?]{2,60})\?*\s*"
    r"|\s*wat (?:is|zijn) (?:een |de |het )?(?P<wat>[^?]{2,60})\?*\s*",
    re.IGNORECASE,
)
_MAX_TERM_WORDS = 3
_MAX_CHARACTERS = 500
# What is before a question: nothing, or what it is about, as in "I lost my key, how do I get a new one?"
_BEFORE = r"(?:\A|[,;.:!?])\s*(?:(?:and|so|then|but|und|et|y|e|ma|mas|maar) )?"
# The beginning of the whole question.
_FIRST = r"\A\W*(?:(?:e|en|ma|mas|maar) )?"
# "Show me an example", "List of error codes": what is asked for is all of it.
_REQUEST = r"(?:please )?(?:(?:show|give|explain|list)(?: me| us)?|(?:a |the )?list of)\b"
# "Can I upload plans, which are scans?" asks for yes or no, whatever follows.
_YES_OR_NO_QUESTION = re.compile(
    r"\s*(?:can|could|may|must|should|do|does|did|is|are|were|will|would|has|have|am|kann|darf|muss|soll|ist|sind|hat"
    r"|habe|gibt|wird|est|peut|puis|dois|puedo|debo|hay|posso|può|possono|possiamo|devo|deve|dobbiamo|è|sono|c['’]è"
    r"|ci sono|si può|pode|podem|podemos|é|há|são|tem|têm|existe|mag|mogen|moet|moeten|kan|kunnen|zijn|heeft|hebben"
    r"|wordt|worden)\b",
    re.IGNORECASE,
)
# A question that "yes" or "no" does not answer.
_OPEN_QUESTION = re.compile(rf"{_BEFORE}{QUESTION_WORDS}|{_FIRST}{FIRST_QUESTION_WORDS}|\A\s*{_REQUEST}", re.IGNORECASE)
# A question whose answer may have several paragraphs: how something is done, or what there is.
_BROAD_QUESTION = re.compile(
    rf"{_BEFORE}(?:how|what|which|wie|was|welche[mnrs]?|comment|que|quel(?:le)?s?|cómo|qué|cuál(?:es)?|che cosa"
    rf"|quali?|o que|quais|wat|welke?)\b|{_FIRST}(?:come|cosa|como|hoe)\b"
    rf"|\A\s*{_REQUEST}",
    re.IGNORECASE,
)
# "How do I cancel a job?", "What must I do if a key is lost?"
_PROCEDURE_QUESTION = re.compile(
    rf"{_BEFORE}(?:how (?:do|can|to|should|could|would|must)|what (?:do|can|should|must) (?:i|we|you) do"
    r"|wie (?:geht|(?!lange|viele?|oft|groß|hoch|alt|weit|schwer|teuer|spät)\w+ (?:ich|wir|man|du|sie))"
    r"|was (?:muss|kann|soll|mache|tue) (?:ich|wir|man)|was (?:tun|nun|jetzt)"
    r"|comment|que (?:dois-je|faut-il) faire|cómo|qué (?:debo|tengo que|puedo) hacer"
    r"|(?:che |cosa |che cosa )(?:devo|posso|bisogna|si deve) fare|o que (?:devo|posso|tenho de|é preciso) fazer"
    r"|o que faço|wat (?:moet|kan) (?:ik|je|men|u|we|wij) doen|wat (?:nu|te doen))\b"
    rf"|{_FIRST}(?:come (?!mai\b|si chiama)|como (?!se chama)|hoe (?:kan|kun|moet|gaat)\b"
    r"|hoe (?!diep|duur|groot|heet|hoog|laat|lang|oud|snel|vaak|ver|zwaar)\w+ (?:ik|je|jij|u|we|wij|men)\b)"
    rf"|\A\s*{_REQUEST}",
    re.IGNORECASE,
)
# "Where is it and what does it cost?", "What are its weight and price?", "Where is it? What does it cost?", but not
# "What was it before and after the change?"
_SECOND_QUESTION = re.compile(
    r"\w\W+(?:and|und|et|y|e) (?!(?:after|out|off|down|forth|so on)\b)\w|\?\s+\w"
    rf"|[,;] {QUESTION_WORDS}(?=.*\?)",
    re.IGNORECASE | re.DOTALL,
)
# "en" is a preposition in French and Spanish.
_DUTCH_AND = re.compile(r"\w,? en (?!af\b|uit\b|weer\b)\w", re.IGNORECASE)
# "How often is it done, and how do I change that?": the second question asks about the answer to the first one.
_FOLLOWING_QUESTION = re.compile(
    rf"(?:,|\band|;|\?) (?:and )?{QUESTION_WORDS}[^?]{{1,60}}\b(?:it|that|this|them|those|these)\b", re.IGNORECASE
)
# "What does E-12 mean?", "The panel shows F12": a word with a letter and a digit. One pattern that looks ahead for both
# reads a long row of hyphens again from each of them.
_WORD = re.compile(r"\w(?:[\w-]*\w)?")
_NOTE_OR_PLURAL = re.compile(r"\(e?s\)|\[\d+\]")
_LETTER, _DIGIT = re.compile(r"[^\W\d_]"), re.compile(r"\d")
# "What is the difference between a page and an article?", "How does it differ from an article?", "pages vs articles"
_COMPARISON = re.compile(
    r"\b(?:differences? between|unterschiede? zwischen|différences? entre|diferencias? entre) (?P<first>[^?]{2,80}?)"
    r" (?:and|und|et|y) (?P<second>[^?]{2,80})"
    r"|\b(?:differenz[ae] (?:tra|fra)|diferenças? entre) (?P<uno>[^?]{2,80}?) e (?P<due>[^?]{2,80})"
    r"|\bverschil(?:len)? tussen (?P<een>[^?]{2,80}?) en (?P<twee>[^?]{2,80})"
    r"|\bhow (?:do|does|is|are) (?P<one>[^?]{2,80}?) (?:differ|different) from (?P<other>[^?]{2,80})"
    r"|\b(?P<left>[^?\s][^?]{1,80}?) (?:vs\.?|versus) (?P<right>[^?]{2,80})",
    re.IGNORECASE,
)
# "without an invitation", "cannot". The Italian "non" is part of other words elsewhere: "non-members", "non compris".
_NEGATION = re.compile(
    r"\b(?:without|not|cannot|never|ohne|nicht|nie|keine?[mnrs]?|sans|ne|jamais|sin|nunca|senza"
    r"|nessun[oa]?|non (?:c['’]è|ci|devo|deve|devono|è|funziona|ha|ho|hanno|posso|può|possono|si|sono|viene)"
    r"|(?-i:sem)|não|nenhuma?|zonder|niet|nooit|geen)\b|n['’]t\b",
    re.IGNORECASE,
)
# "Who wrote the memo?", "When was the reply sent?"
_MAIL_QUESTION = re.compile(
    r"\b(?:e-?mails?|mails?|memos?|messages?|repl(?:y|ied|ies)|sen[dt]|sender|recipients?|wrote|written|write"
    r"|(?:mail|nachricht|schreiben)\w*|absender\w*|geschickt|geschrieben|schrieb\w*|gesendet|courriels?|envoy\w+"
    r"|écrit\w*|correos?|mensajes?|envi\w+|escri\w+|remitente"
    r"|messaggi?o?|inviat[aeio]|mittente|scritt[aeio]|scrisse|mensage(?:m|ns)|escrev\w+|afzender|geschreven|gestuurd"
    r"|schreef|verstuurd|verzonden)\b",
    re.IGNORECASE,
)
# "Where does it take place?" asks for a place, and not for one that is taken.
_HAPPENS = re.compile(
    r"\b(?:t(?:akes?|ook|aken|aking) place|(?:a|ont|aura|auront|avait) lieu|t(?:iene|ienen|endrá|uvo) lugar"
    r"|si (?:svolg(?:e|ono|erà)|t(?:iene|errà))|ha luogo|avrà luogo|tem lugar|terá lugar|realiza(?:m)?-se"
    r"|plaatsvind(?:t|en)|v(?:indt|inden|ond|onden)\b(?=[^?]{1,120}\bplaats\b)"
    r"|f(?:inde[tn]|and|anden)\b(?=[^?]{1,120}\bstatt\b)|statt(?=\W*\Z)|stattfinde[tn]|stattfand(?:en)?)\b",
    re.IGNORECASE,
)
_YES = re.compile(r"\s*(?:yes|ja|oui|sí|sì|sim)[.!]\s*", re.IGNORECASE)
_YES_OR_NO = re.compile(r"\s*(?:yes|no|ja|nein|oui|non|sí|sì|sim|não|nee)[,.:;!](?:\s|$)", re.IGNORECASE)


def asked_term(question: str) -> str:
    """Return what a question wants to have defined; empty if it asks for something else."""
    match = _DEFINITION_QUESTION.fullmatch(question[:200])
    term = next(filter(None, match.groups()), "") if match else ""
    return term if len(term.split()) <= _MAX_TERM_WORDS else ""


def compared_things(question: str) -> tuple[str, ...]:
    """Return the two things whose difference is asked for; empty if it is no such question."""
    match = _COMPARISON.search(question[:_MAX_CHARACTERS])
    return tuple(side for side in match.groups() if side) if match else ()


def is_procedure(question: str) -> bool:
    """Return whether a question asks how something is done, or what to do."""
    return _asks(question, _PROCEDURE_QUESTION) or other_scripts.is_procedure(question[:_MAX_CHARACTERS])


def _asks(question: str, pattern: re.Pattern[str]) -> bool:
    """Return whether a question begins as the pattern says, or a part of it does that follows a statement."""
    match = pattern.search(question[:_MAX_CHARACTERS])
    return match is not None and (match.start() == 0 or not _YES_OR_NO_QUESTION.match(question))


def is_yes_or_no(question: str) -> bool:
    """Return whether a question begins with a word such as "can", so that its answer is yes or no."""
    return bool(_YES_OR_NO_QUESTION.match(question[:_MAX_CHARACTERS]))


def says_yes_or_no(text: str) -> bool:
    """Return whether a text begins with "Yes" or "No"."""
    return bool(_YES_OR_NO.match(text)) or other_scripts.says_yes_or_no(text)


def is_negated(text: str) -> bool:
    """Return whether a question or heading contains a negation ("not", "without", "never" …)."""
    return bool(_NEGATION.search(text))


@dataclass(frozen=True, slots=True)
class AnalysedQuestion:
    """A question as the selection of quotes sees it.

    Attributes:
        words: The content words, and all numbers.
        answer_type: What the question asks for, such as a time; None if this is unknown.
        term: What the question wants to have defined; empty if it asks for something else.
        is_open: Whether it asks how, what, when or the like, so that "yes" is not an answer.
        is_broad: Whether it asks how or what, so that several paragraphs may be the answer.
        is_procedure: Whether it asks how something is done, or what to do.
        asks_about_answer: Whether a second question asks about the answer to the first one.
        asks_two_things: Whether it may have two answers in different places.
        asks_about_mail: Whether it is about a message itself: who wrote it, to whom or when.
        compared: The two things whose difference is asked for; empty if it asks for something else.
        is_negated: Whether it contains a negation ("not", "without", "never" …).
        codes: The codes and names of models and variables that it has, such as E-12 and MAX_AGE, in lower case.
        short_tokens: Its single letters and numbers, in lower case.
        numbers: Its numbers in digits, as they are.
        amounts: Its numbers with a unit.
        asks_for_amount: Whether it asks for an amount of something, and has no answer type.
        counted: The words for what it asks to count.
        cited_sections: The numbers of the sections that it names.
    """

    words: tuple[str, ...]
    answer_type: AnswerType | None
    term: str
    is_open: bool = False
    is_broad: bool = False
    is_procedure: bool = False
    asks_two_things: bool = False
    asks_about_answer: bool = False
    asks_about_mail: bool = False
    compared: tuple[str, ...] = ()
    is_negated: bool = False
    codes: tuple[str, ...] = ()
    short_tokens: frozenset[str] = frozenset()
    numbers: frozenset[str] = frozenset()
    amounts: tuple[Amount, ...] = ()
    asks_for_amount: bool = False
    counted: tuple[str, ...] = ()
    cited_sections: frozenset[str] = frozenset()

    def needs_more_than(self, text: str) -> bool:
        """Return whether a text is a mere "Yes.", which is no answer to this kind of question."""
        return self.is_open and bool(_YES.fullmatch(text))

    def accepts(self, text: str) -> bool:
        """Return whether a text may answer this kind of question: "Yes, …" does not say how something is done."""
        return not (self.is_open and says_yes_or_no(text))


def find_codes(text: str) -> tuple[str, ...]:
    """Return the codes, names of models and of variables in a text, in lower case, each once and in order.

    They have a letter and a digit, such as E-12 or HX5, or words with an underscore between them: MAX_AGE.
    """
    words = dict.fromkeys(word.lower() for word in _WORD.findall(text))
    return tuple(word for word in words if _LETTER.search(word) and (_DIGIT.search(word) or "_" in word.strip("_")))


def find_short_tokens(text: str) -> frozenset[str]:
    """Return the single letters and numbers of a text, in lower case: "s" and "75" of "model S, 75 mm".

    Not those of "guest(s)", of a note "[1]" and of "what's", and no function words.
    """
    words = as_phrase(_NOTE_OR_PLURAL.sub(" ", text)).split()
    return frozenset(word for word in words if (word.isdecimal() or len(word) == 1) and word not in ALL_FUNCTION_WORDS)


def analyse_question(question: str, langs: Sequence[str]) -> AnalysedQuestion:
    """Analyse a question.

    Args:
        question: The question.
        langs: The languages of the passages, as documents declare them.
    """
    lang = query_language(question, langs)
    joined = join_thousands(_HAPPENS.sub(" ", question))
    numbers = (word for word in split_words(joined, lang) if word.isdigit())  # "exit code 3"
    words = tuple(dict.fromkeys([*content_words(joined, lang), *numbers]))
    return AnalysedQuestion(
        words,
        asks_about_mail=bool(_MAIL_QUESTION.search(question[:_MAX_CHARACTERS])),
        answer_type=expected_answer_type(question),
        term=asked_term(question),
        is_open=_asks(question, _OPEN_QUESTION) or other_scripts.is_open(question[:_MAX_CHARACTERS]),
        is_broad=_asks(question, _BROAD_QUESTION),
        is_procedure=is_procedure(question),
        asks_about_answer=bool(_FOLLOWING_QUESTION.search(question[:_MAX_CHARACTERS])),
        asks_two_things=bool(
            _SECOND_QUESTION.search(question[:_MAX_CHARACTERS]) or (lang == "nl" and _DUTCH_AND.search(question))
        ),
        compared=compared_things(question),
        is_negated=is_negated(question),
        codes=find_codes(question[:_MAX_CHARACTERS]),
        short_tokens=find_short_tokens(question),
        numbers=find_digits(question[:_MAX_CHARACTERS]),
        amounts=tuple(find_amounts(question)),
        asks_for_amount=asks_for_amount(question),
        counted=tuple(counted_words(question)),
        cited_sections=find_cited_sections(question),
    )
