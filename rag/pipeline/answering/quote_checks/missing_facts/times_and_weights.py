"""Quotes without a time of day or a weight, for questions that ask for one."""

import re

from rag.types import Passage

from .missing_things import lacks_thing

_ASKS_FOR_TIME = re.compile(
    r"\b(?:(?<!for )what time(?! ?(?:fram|limit|period|range|span|zone))|wie ?viel uhr|wie spät|quelle heure|qué hora"
    r"|(?:a|da|entro|fino a) che ora|a quale ora|que horas?|hoe laat)\b",
    re.IGNORECASE,
)
# "14:30", "2 pm", "16 h", "8–12", "before 9", or a word for a part of the day, or for no certain time.
_ANY_TIME = re.compile(
    r"\d ?[:.h] ?\d\d|\d ?(?:[ap]\.?m|uhr|uur|h|o['’]clock)\b|\b\d\d? ?(?:[–-]|to|bis|à|a|until|tot|às|alle) ?\d\d?\b"
    r"|\b(?:about|after|around|at|before|by|from|past|till|to|until|ab|bis|gegen|nach|um|vor|à|avant|dès|vers|las?)"
    r" \d\d?\b"
    # "alle 17", but not the German "alle 14 Tage".
    r"|\b(?:dalle|ore|às|(?:dopo|entro|verso) le|om|rond|tot|vanaf|voor) \d\d?\b"
    r"|\balle \d\d?(?:[.:]\d\d)?(?= e |[.,;)]|\s*\Z)"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve) (?:o['’]clock|sharp)|\bhalf[ -]past\b"
    r"|\b(?:any ?time|at once|immediately|always|never|closed|same time|usual|depends?|noon|midday|midnight|dawn|dusk"
    r"|dark|daylight|sunrise|sunset|morning|afternoon|evening|night|tonight|lunch|breakfast|dinner|closing|opening"
    r"|hours?)s?\b|\b(?:jederzeit|immer|nie|sofort|geschlossen|ganztägig|rund um|stunden?|mitternacht|dunkel\w*"
    r"|dämmerung|sonnen\w+|(?:vor|nach)?mittags?|morgens?|abends?|nachts?|früh|toujours|jamais|fermée?|midi|minuit"
    r"|matin\w*|après-midi|soir\w*|nuit|heures?|aube|lever|coucher|siempre|nunca|cerrad[oa]|mediodía|medianoche|mañana"
    r"|tarde|noche|horas?|amanecer|anochecer|sempre|subito|chius[aeio]|orari[oi]?|mezzogiorno|mezzanotte|mattin\w*"
    r"|pomeriggio|ser[ae]|or[ae]|tramonto|fechad[oa]s?|horários?|meio-dia|meia-noite|manhã|noite|altijd|nooit|gesloten"
    r"|middag|\w*ochtend|avond\w*|uur|uren|middernacht|zons\w+|donker)\b",
    re.IGNORECASE,
)
_ASKS_FOR_WEIGHT = re.compile(
    r"\b(?:how much (?:does|do|did) .{1,80} weighs?|how heavy|what (?:does|do) .{1,80} weighs?|what is the weight"
    r"|wie schwer|wie ?viel wieg\w+|combien pèsen?t?|cuánto pesan?|quanto pesa(?:no|m)?"
    r"|qual è il peso|qual é o peso|hoeveel we+g\w+|hoe zwaar|wat is het gewicht)\b",
    re.IGNORECASE,
)
_ANY_WEIGHT = re.compile(
    r"\d ?(?:k?g|mg|t|lbs?|oz|kilo\w*|gram\w*|tonn?\w*|tons?|pounds?|ounces?|stones?|q|chil[io]|chilogramm[io]"
    r"|quilo\w*)\b|[½¼¾] ?kg|\b(?:weigh|heav|light|load|schwer|leicht|wieg|last|poids|pèse|lourd|léger|charge|pes[ao]"
    r"|carga|liger|legger)|\b(?:carico|leve|weegt|zwaar)\b|(?:gewicht|last)\b",
    re.IGNORECASE,
)
# "When" is also answered by what happens before, in other words.
_ASKS_FOR_HOURS = re.compile(
    rf"{_ASKS_FOR_TIME.pattern}|\b(?:business|closing|office|opening) (?:hours|times?)\b|\b(?:öffnungs|sprech)zeiten\b"
    r"|\bheures d['’]ouverture|\bhorarios? de apertura|\borario? d(?:i |['’])apertura"
    r"|\bhorário de (?:abertura|funcionamento)|\bopeningstijden\b",
    re.IGNORECASE,
)
_WORDS_OF_HOURS = {
    "business", "close", "closed", "closes", "closing", "hours", "office", "open", "opened", "opening", "opens",
    "start", "starts", "time", "times", "today", "uhr", "öffnet", "geöffnet", "geschlossen", "schließt",
    "öffnungszeiten", "sprechzeiten", "beginnt", "endet", "ferme", "fermé", "heure", "heures", "horaire", "horaires",
    "ouvre", "ouvert", "ouverte", "ouverture", "commence", "abre", "abierto", "abierta", "apertura", "cierra",
    "cerrado", "empieza", "hora", "horario", "horarios", "apre", "aperto", "aperta", "chiude", "chiuso", "ora", "orari",
    "orario", "inizia", "aberto", "aberta", "abertura", "fecha", "fechado", "começa", "horas", "horário",
    "funcionamento", "dicht", "gesloten", "laat", "openingstijden", "sluit", "begint",
}  # fmt: skip
_MAX_QUESTION, _MAX_TEXT = 500, 2_000


def lacks_time_or_weight(query: str, text: str) -> bool:
    """Return whether a question asks for a time of day or a weight, and quotes surely have none.

    "Dusk", "closed" and "closing time" are answers, and so is what something is too heavy for.

    Args:
        query: The question.
        text: The quotes.
    """
    query, text = query[:_MAX_QUESTION], text[:_MAX_TEXT]
    return any(
        asks.search(query) and not answers.search(text)
        for asks, answers in ((_ASKS_FOR_TIME, _ANY_TIME), (_ASKS_FOR_WEIGHT, _ANY_WEIGHT))
    )


def may_be_hours_of_other_thing(query: str, text: str, passage: Passage) -> bool:
    """Return whether a question asks at what time of the day, and the passage lacks a word for what it is about.

    Args:
        query: The question.
        text: The quotes.
        passage: The passage of the first quote.
    """
    asks = _ASKS_FOR_HOURS.search(query[:_MAX_QUESTION])
    return bool(asks) and lacks_thing(query, text[:_MAX_TEXT], passage, _WORDS_OF_HOURS)
