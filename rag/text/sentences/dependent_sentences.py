"""Says which sentence cannot be understood without the one before, or without the question that it answers."""

import re

from rag.text import languages

from .unspaced_scripts import count_words

_FIRST_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# These name what follows them.
_OPENING_PHRASE = re.compile(
    r"(?:instead of|both \w+ and|this (?:page|document|section|manual|guide))\b", re.IGNORECASE
)
# "With this open, select …", "To do so, open …", "If it fails, …"
_REFERRING_PHRASE = re.compile(
    r"(?:to do (?:so|this|that|it)"
    r"|(?:with|after|before|for|by|without|once|if|when|as|at|on) (?:this|that|these|those|it|them))\b",
    re.IGNORECASE,
)
# "Only on a lead.", "You do, unless …": what this is about is in the question.
_SHORT_ANSWER = re.compile(
    r"(?:yes|no|not|only|never|always|ja|nein|nur|nie|immer|oui|non|seulement|jamais|toujours|sí|solo|sólo|nunca"
    r"|siempre|sì|soltanto|sempre|sim|não|só|apenas|nee|alleen|nooit|altijd|(?:you|we|they) (?:do|don['’]t|can"
    r"|can['’]t|may|must|will|won['’]t)(?=[,.;]))(?![\w'’])",
    re.IGNORECASE,
)
_SHORT_ANSWER_ELSEWHERE = re.compile(
    r"(?:да|нет|только|никогда|всегда|نعم|لا|فقط|أبدا|دائما)(?!\w)|(?:可以|不可以|是的?|不是|不能|没有|只有|はい"
    r"|いいえ|예|네|아니요)(?=[，,。.、！!])",
    re.IGNORECASE,
)
_MAX_SHORT_ANSWER_WORDS = 6
# Pronouns and conjunctions that refer to what was said before, by language (Snowball's names).
_DEPENDENT_WORDS = {
    "english": """
        it its it's they their them this that these those he she his her him such both otherwise then also but and or so
        however therefore thus instead neither nor afterwards moreover furthermore besides likewise similarly hence
        consequently still yet elsewhere there's that's they're he's she's another others
        """,
    "german": """
        er sie es dies diese dieser dieses diesem diesen dadurch dafür dagegen damit danach dann daher deshalb darum
        dazu davon dabei darauf darin jedoch aber und oder auch außerdem sonst andernfalls stattdessen zudem beide ihr
        ihre sein seine jener jene hierzu hierbei dort trotzdem
        """,
    "french": """
        il elle ils elles ce cela ceci cet cette ces celui celle ceux celles ainsi donc mais et ou aussi sinon alors
        ensuite puis cependant toutefois leur leurs son sa ses y en
        """,
    "spanish": """
        él ella ellos ellas esto eso este esta estos estas ese esa esos esas así pero y o también entonces luego además
        sin su sus ambos
        """,
    "italian": """
        egli ella esso essa essi esse lui lei loro questo questa questi queste quello quella quelli quelle ciò così però
        ma e o anche inoltre altrimenti poi quindi perciò dunque pertanto tuttavia invece entrambi suo sua suoi sue
        """,
    "portuguese": """
        ele ela eles elas isto isso este esta estes estas esse essa esses essas aquele aquela assim mas e ou também
        então depois além porém contudo portanto senão seu sua seus suas ambos
        """,
    "dutch": """
        hij zij ze dit dat deze die daardoor daarvoor daarmee daarna daarom daarbij daarin dus echter maar en of ook
        bovendien anders beide haar hun toch
        """,
    "russian": """
        он она оно они это этот эта эти его её ее их ему ей им там туда тогда поэтому однако но а и или также кроме
        иначе затем потом при такой такая такие тот та те оба
        """,
    "arabic": """
        هو هي هم هما هذا هذه ذلك تلك هؤلاء هناك لكن ولكن ثم لذلك ولذلك كما وإلا أيضا بعدها وهو وهي
        """,
}
# Chinese, Japanese and Korean.
_DEPENDENT_BEGINNING = re.compile(
    r"(?:[他她它][们們]?(?!人)|这|這|那(?!里)|该|此|但|然而|因此|所以|否则|否則|不过|另外|其中|同时"
    r"|これ|それ|その|この|ただし|しかし|また[、は]|なお|そのため|したがって|さらに|그(?:러나|리고|래서|런데)"
    r"|이(?:것|때)|하지만|또한|따라서|단,)"
)
_WORDS = {language: frozenset(words.split()) for language, words in _DEPENDENT_WORDS.items()}


def depends_on_predecessor(sentence: str, lang: str = "") -> bool:
    """Return whether a sentence begins with a word that refers to an earlier sentence.

    Args:
        sentence: The sentence.
        lang: Its language, as documents declare it; empty for English.
    """
    if _DEPENDENT_BEGINNING.match(sentence):
        return True
    first = _FIRST_WORD.search(sentence[:40])
    if first is None or first.start() > 2 or _OPENING_PHRASE.match(sentence):  # after a quotation mark at most
        return False
    if _REFERRING_PHRASE.match(sentence, first.start()):
        return True
    known = _WORDS.get(languages.snowball_algorithm(lang) or "english", frozenset())
    return first.group().lower().replace("’", "'") in known


def needs_question(sentence: str, lang: str = "") -> bool:
    """Return whether the first sentence of an answer may not say what was asked: "Only on a lead.", "Up to 2 tonnes."

    Args:
        sentence: The sentence.
        lang: Its language, as documents declare it; empty for English.
    """
    is_short = count_words(sentence) <= _MAX_SHORT_ANSWER_WORDS
    begins_short = _SHORT_ANSWER.match(sentence) or _SHORT_ANSWER_ELSEWHERE.match(sentence)
    return is_short or bool(begins_short) or depends_on_predecessor(sentence, lang)
