"""Quotes without a length, distance, temperature, duration or time, for questions that ask for one."""

import re

from rag.pipeline.answering.extractive.question.answer_patterns import AnswerType
from rag.pipeline.answering.extractive.question.answer_types import expected_answer_type, has_answer_of_type
from rag.text.quantities.quantity_words import DAYS, MONTHS, TIME_UNITS, any_of

_MAX_QUESTION, _MAX_TEXT = 500, 2_000
_LENGTH = (
    r"\d ?(?:[ckm]?m|ft|feet|foot|in|inch\w*|kilom\w+|met\w+|mètres?|metr\w+|zoll|pouces?|miles?|mi|yards?|zentimeter"
    r"|centim\w+|millim\w+)\b|\d ?[\"″'′]"
)
_MEASURES = (
    (
        r"how (?:deep|tall|thick|wide)\b|(?:what is|what's) the (?:depth|diameter|height|thickness|width)\b"
        r"|wie (?:breit|dick|hoch ist der|tief)\b|quelle est la (?:hauteur|largeur|profondeur)|qué (?:altura|anchura"
        r"|profundidad)\b|che (?:altezza|larghezza|profondità)|que (?:altura|largura|profundidade)\b|hoe (?:breed"
        r"|diep)\b",
        _LENGTH,
    ),
    (
        r"how far (?:away|from|is|is it)\b|(?:what is|what's) the (?:distance|range)\b|wie weit (?:entfernt|ist|weg)\b"
        r"|reichweite\b|à quelle distance|a qué distancia|a che distanza|a que distância|hoe ver is",
        rf"{_LENGTH}|\d ?(?:hours?|minut\w+|stunden?|heures?|horas?|ore|uur)\b|\b(?:away|behind|close|near\w*|next"
        rf"|opposite|nah\w*"
        r"|nächst\w*|weit|gegenüber|loin|près|face|cerca|lejos|junto|lontano|vicino|longe|perto|vlak|naast)\b",
    ),
    (
        r"how (?:cold|hot|warm)\b|what temperature|(?:what is|what's) the temperature|(?:bei|auf) welcher temperatur"
        r"|wie (?:heiß|kalt|warm)\b|quelle (?:est la )?température|(?:a )?qué temperatura|che temperatura"
        r"|que temperatura"
        r"|hoe (?:heet|koud|warm)\b",
        r"°|\d ?[cf]\b|\b(?:boil\w*|cold|degrees?|freez\w*|grade?n?|grad[io]s?|graus?|heat\w*|hot|koch\w*|kalt\w*"
        r"|lukewarm|room"
        r"|unheated|warm\w*|degrés?|froide?|chaud\w*|frí[oa]|caliente|fredd[oa]|cald[oa]|fri[oa]|quente|koud\w*)\b",
    ),
    (
        r"how long (?:do|did|does|will) (?:it|.{1,60}) (?:last|take)\b|wie lange (?:braucht|dauert?n?)\b"
        r"|combien de temps (?:dure\w*|faut-il|met\w*|prend\w*)\b|cuánto (?:dura|tarda)n?\b|quanto (?:dura(?:no)?"
        r"|duram)\b"
        r"|hoe lang duur\w*",
        rf"\b(?:{any_of(TIME_UNITS)})\b|\d\d?[:.]\d\d|\d ?[hs]\b|\b(?:always|depends|expire\w*|immediately|long"
        rf"|overnight|permanent"
        r"|quick\w*|season\w*|semester\w*|short\w*|soon|term|till?|until|while|abhängig|bis|dauer\w*|halbjahr\w*"
        r"|kurz\w*"
        r"|lang\w*|saison\w*|sofort|solange|aussitôt|jusqu\w*|longtemps|rapide\w*|siempre|hasta|temporada"
        r"|depende\w*|breve"
        r"|fino|sempre|stagione|até|logo|altijd|direct|kort|seizoen|tot)\b",
    ),
)
_PATTERNS = [(re.compile(rf"\b(?:{asks})", re.IGNORECASE), re.compile(has, re.IGNORECASE)) for asks, has in _MEASURES]
# A date, a part of the year or the day, or on what it depends.
_ANY_TIME = re.compile(
    r"\d ?[–-] ?\d|\b(?:a las?|alle|at|by|from|om|um|às|à) \d"
    r"|\b(?:fri|mon|sat|sun|thu|tue|wed)\b|\b(?:do|fr|mi|mo|sa)[.–-]"
    rf"|\d{{3}}|\d\d?[:./]\d\d|\d\.(?=\s)|\d(?:st|nd|rd|th)\b|\b(?:{any_of((*DAYS, *TIME_UNITS))})\b"
    rf"|\b(?:{any_of(month for months in MONTHS.values() for month in months)})\b"
    r"|\b(?:after|afternoon|already|always|annual\w*|autumn|before|century|christmas|daily|dates?|dawn|deadline"
    r"|decades?"
    r"|during|dusk|each|earl\w+|easter|end\w*|evening|ever\w*|expire\w*|following|holidays?|if|immediately|last"
    r"|late\w*|midday"
    r"|midnight|monthly|morning|never|next|noon|now|often|old|once|planned|quarter\w*|season\w*|since|soon|spring"
    r"|summer"
    r"|sunrise|sunset|term|then|till|times?|today|tomorrow|tonight|twice|until|weekends?|weekly|when\w*|while"
    r"|winter|yearly"
    r"|yesterday)\b"
    r"|\b(?:ab|abend\w*|alle|bald|bis|dann|einmal|ende\w*|falls|ferien|früh\w*|heute|herbst\w*|immer|jede\w*|jetzt"
    r"|jährlich\w*|mittag\w*|monatlich\w*|morgen\w*|nach\w*|nie\w*|ostern|quartal\w*|saison\w*|seit|sobald|sofort"
    r"|sommer\w*"
    r"|später|stets|termin\w*|täglich\w*|vor\w*|wann|weihnacht\w*|wenn|wochenend\w*|während|wöchentlich\w*|zeit\w*"
    r"|zweimal)\b"
    r"|\b(?:annuel\w*|après|aujourd\w*|automne|avant|bientôt|chaque|date\w*|demain|depuis|dès|fin|hiver|jamais"
    r"|jusqu\w*"
    r"|lorsqu\w*|matin\w*|midi|noël|nuit|pendant|printemps|pâques|quand|si|siècle|soir\w*|tard|tou(?:s|tes)|toujours"
    r"|tôt|vacances|été)\b"
    r"|\b(?:al|antes|anual\w*|cada|cuando|desde|después|diari\w*|durante|fecha\w*|hasta|hoy|invierno|mañana|mensual\w*"
    r"|navidad|noche|nunca|otoño|primavera|pronto|semanal\w*|siempre|siglo|tarde|temporada|tod[ao]s|vacaciones"
    r"|verano)\b"
    r"|\b(?:appena|autunno|dopo|dal|domani|estate|finché|fino|inverno|mai|ogni|oggi|presto|prima|quando|scorso|sempre"
    r"|sera|stagione|subito|tutt[ei]|amanhã|após|até|cedo|depois|hoje|logo|manhã|noite|outono|verão|altijd|avond\w*"
    r"|elke"
    r"|herfst|iedere?|lente|na|nooit|ochtend\w*|sinds|tijd\w*|tijdens|tot|vanaf|voor\w*|wanneer|zodra|zomer)\b",
    re.IGNORECASE,
)


def may_lack_measure(query: str, text: str) -> bool:
    """Return whether a question asks how deep, far, hot or long something is, or when, and quotes seem not to say so.

    Args:
        query: The question.
        text: The quotes.
    """
    question, text = query[:_MAX_QUESTION], text[:_MAX_TEXT]
    if any(asks.search(question) and not has.search(text) for asks, has in _PATTERNS):
        return True
    # "When the tower was built, which stone was used?" asks for something else.
    asks_when = expected_answer_type(query) is AnswerType.TIME and "," not in question
    return asks_when and not (has_answer_of_type(text, AnswerType.TIME) or _ANY_TIME.search(text))
