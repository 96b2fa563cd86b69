"""Words of a question that an answer need not repeat, in English and six other languages."""

from rag.text.question_language import is_english, name_language

# Words of questions that an answer need not repeat: "How long does it take?" is answered by "14 days".
_QUESTION_WORDS = {
    "long", "often", "far", "soon", "much", "many", "old", "large", "big", "high", "happen", "happens", "happened",
    "mean", "means", "meant", "stand", "stands", "take", "takes", "call", "called", "describe", "described",
    "mention", "mentioned", "say", "says", "said", "regulate", "regulates", "stipulate", "stipulates", "kind", "kinds",
    "type", "types", "different", "specific", "though",
}  # fmt: skip
# The same in German, French and Spanish.
_OTHER_QUESTION_WORDS = {
    "lange", "viele", "oft", "weit", "hoch", "groß", "alt", "teuer", "dauert", "dauern", "kostet", "kosten", "heißt",
    "bedeutet", "beträgt", "finde", "findet", "passiert", "coûte", "coûtent", "coute", "dure", "durent", "trouve",
    "signifie", "appelle", "cuesta", "cuestan", "vale", "valen", "dura", "duran", "encuentro", "significa", "llama",
    "sagt", "besagt", "steht", "regelt", "dit", "prévoit", "dice", "establece",
}  # fmt: skip
# The same in languages whose words mean something else in another one, as the Italian "costa".
_QUESTION_WORDS_OF = {
    "italian": {
        "costa", "costano", "dura", "durano", "trova", "trovano", "trovo", "significa", "chiama", "dice", "stabilisce",
        "prevede", "succede", "spesso",
    },
    "portuguese": {
        "custa", "custam", "dura", "duram", "demora", "demoram", "fica", "ficam", "encontro", "significa", "chama",
        "diz", "estabelece", "prevê", "acontece",
    },
    "dutch": {
        "lang", "vaak", "ver", "hoog", "groot", "oud", "duur", "duurt", "duren", "kost", "kosten", "heet", "betekent",
        "bedraagt", "vind", "vindt", "gebeurt", "zegt", "staat", "staan", "bepaalt", "regelt", "laat",
    },
}  # fmt: skip
_WORDS_OF_ONE_LANGUAGE = frozenset[str]().union(*_QUESTION_WORDS_OF.values())
# Words that an answer need not repeat: "Turn off text recognition" is answered by "Set X", and a difference by both.
_GENERAL_WORDS = {
    "turn", "turns", "turned", "turning", "stop", "stops", "stopping", "work", "works", "working", "want", "wants",
    "need", "needs", "try", "tries", "tried", "happening", "possible", "able", "automatically", "manually", "actually",
    "currently", "normally", "usually", "quickly", "easily", "really", "simply", "directly", "properly", "correctly",
    "find", "finds", "finding", "difference", "differences", "unterschied", "unterschiede", "différence", "différences",
    "diferencia", "diferencias", "differenza", "differenze", "diferença", "diferenças", "verschil", "verschillen",
}  # fmt: skip


def is_question_word(word: str, query: str) -> bool:
    """Return whether a word of a question belongs to its form: "long" of "How long does it take?"."""
    lower = word.lower()
    if lower in _QUESTION_WORDS or (lower in _OTHER_QUESTION_WORDS and not is_english(query)):
        return True
    return lower in _WORDS_OF_ONE_LANGUAGE and lower in _QUESTION_WORDS_OF.get(name_language(query), ())


def is_general_word(word: str) -> bool:
    """Return whether a word says little of what a question is about, such as "work" and "difference"."""
    return word.lower() in _GENERAL_WORDS
