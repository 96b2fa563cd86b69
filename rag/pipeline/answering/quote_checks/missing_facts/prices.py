"""Quotes without a price, or of another thing, for questions that ask what a thing costs: "price of a night in May"."""

import re

from rag.text.quantities.quantity_words import CURRENCIES, any_of
from rag.types import Passage

from .missing_things import lacks_thing

_MAX_QUESTION, _MAX_TEXT = 500, 2_000
_NOUNS = (
    "bonus|budget|charge|commission|cost|deposit|fare|fee|instal?lment|(?:insurance|insured|market) value|premium|price"
    "|rate|rent|rental|salary|tariff|toll|wage"
)
_QUESTION_WORDS = "are|can|do|does|how|is|may|must|should|what|when|where|which|who|whose|why|will"
# "Change the fee" is no question for it, and "the price list", "the cost centre" and "the charge level" are no prices.
_NO_PRICE_ASKED = re.compile(
    r"\A\W*(?:add|change|create|delete|edit|enter|export|hide|import|make|remove|set|show|update)\b"
    rf"|\b(?:{_NOUNS})s? (?:cent(?:er|re)|change|code|guide|increase|level|limit|list|number|of (?:living|\w+ing|speed)"
    r"|polic\w+|process|reduction|review|schedule|structure|time|types?)\b"
    r"|\b(?:flow|frame|growth|heart|in|rate|sampling|take|tax) (?:charge|rate)s?\b",
    re.IGNORECASE,
)
_WORDS_BEFORE = r"(?:[\w’'-]+ ){0,3}"
_ASKS_FOR_PRICE = re.compile(
    r"\bhow much (?:do|does|did|will|would) (?:it|.{1,80}) cost(?! of\b)\b"
    r"|\bwhat (?:do|does|did|will|would) .{1,80} cost(?! of\b)\b"
    rf"|\b(?:what|how high) (?:is|are|was|were) (?:the|your) {_WORDS_BEFORE}(?:{_NOUNS})s?\b"
    # Without a verb: "forklift hire price", "annual fee for teachers".
    rf"|\A\W*(?!(?:{_QUESTION_WORDS})\b){_WORDS_BEFORE}(?:{_NOUNS})s?(?: [\w’'-]+){{0,3}}\W*\Z"
    rf"|\A\W*(?!(?:{_QUESTION_WORDS})\b)(?:[\w’'-]+ ){{0,2}}(?:{_NOUNS})s? (?:of|for|per) "
    r"|\b(?:was kosten?t?|wie teuer|wie hoch (?:ist|sind|war) (?:der|die) (?:[\w-]+ ){0,2}"
    r"(?:\w{0,20}(?:gebühr|miete|preis)\w*|kosten))\b"
    r"|\b(?:combien (?:coût\w+|vaut|valent)|quels? (?:est|sont) les? (?:coûts?|loyer|prix|tarifs?))\b"
    r"|\b(?:cuánto (?:cost\w+|cuestan?|valen?)|cuál(?:es)? (?:es|son) (?:el|la|los|las)"
    r" (?:coste|cuota|precio|tarifa)s?)\b"
    r"|\b(?:quanto (?:costa\w*|viene)|quali? (?:è|sono) (?:il|la|i|le) (?:cost[oi]|prezz[oi]|quota|tariff[ae]))\b"
    r"|\b(?:quanto custam?|qua(?:l|is) (?:é|são) [oa]s? (?:custo|preço|taxa)s?)\b"
    r"|\b(?:(?:hoeveel|wat) kost(?:en)?|hoe duur|wat (?:is|zijn) de (?:huur|prij(?:s|zen)))\b"
    r"|\A\W*(?:preise?|prix|tarifs?|precios?|tarifas?|prezz[oi]|tariff[ae]|preços?|prij(?:s|zen))"
    r" (?:d\w{0,4}|fürs?|para|pelos?|per|pour|van|voor|von)\b",
    re.IGNORECASE,
)
# Of the question's words, these do not say what has the price.
_WORDS_OF_PRICES = {
    "amount", "annual", "annually", "average", "charge", "charges", "cost", "costs", "current", "currently", "daily",
    "day", "each", "euro", "euros", "fare", "fares", "fee", "fees", "hire", "hired", "hour", "hourly", "month",
    "monthly", "much", "night", "pay", "per", "person", "price", "prices", "quarter", "rate", "rates", "rent", "rental",
    "salary", "single", "tariff", "toll", "total", "wage", "week", "weekly", "weekend", "year", "yearly", "gebühr",
    "gebühren", "jahr", "jährlich", "kostet", "kosten", "miete", "mieten", "monat", "monatlich", "preis", "preise",
    "stunde", "tag", "teuer", "woche", "an", "année", "annuel", "coût", "coûte", "coûtent", "coûts", "heure", "jour",
    "loyer", "mensuel", "mois", "prix", "semaine", "tarif", "tarifs", "anual", "año", "coste", "cuesta", "cuestan",
    "cuota", "día", "hora", "mensual", "mes", "precio", "precios", "semana", "tarifa", "anno", "annuale", "costa",
    "costano", "costo", "giorno", "mensile", "mese", "ora", "prezzi", "prezzo", "quota", "settimana", "tariffa", "ano",
    "custa", "custam", "custo", "dia", "mensal", "mês", "preço", "preços", "taxa", "dag", "huur", "jaar", "kost",
    "maand", "prijs", "prijzen", "uur", "admission", "entrance", "entry", "ticket", "tickets", "eintritt", "karte",
    "ticketpreis", "billet", "billets", "entrée", "entrada", "entradas", "biglietti", "biglietto", "ingresso",
    "bilhete", "bilhetes", "kaartje", "kaartjes", "toegang",
}  # fmt: skip
_OTHER_CURRENCIES = (
    "baht|bucks|crowns?|dinars?|dirhams?|forints?|kron[aeoy]r?|lei|leva|lir[aes]{1,2}|pesos?|quid|rand|rials?|riyals?"
    r"|ro?ubles?|rupees?|rupien|shillings?|yen|yuan|złot\w+|zloty\w*|punkte|marken|credits?|points?|tokens?|coins?"
    r"|vouchers?|jetons?|puntos|fichas|gettoni"
)
# A price, who pays it or that there is none.
_PRICE = re.compile(
    r"[€$£¥₹₽₺]|(?:\A|[:|—,]) ?on request\b"
    rf"|(?<![\d.,:])\d{{1,6}}[.,](?:\d\d|[-–—])(?![\d.,:])|\b(?:{any_of(CURRENCIES)}|{_OTHER_CURRENCIES})\b"
    r"|\b(?:charg\w+|complimentary|costs?|costing|covered|depends?|discount\w*|doubles?|fares?|fees?|free|inclu\w+"
    r"|nothing|paid|pay(?:s|able|ing|ment)?|pric\w+|rates?|reduced|rent|salar\w+|tariffs?|tickets?|toll"
    r"|varies|wages?|waived)\b"
    r"|\b(?:anfrage|beitr[aä]g\w*|bezahl\w*|eintritt\w*|enthalten|entgelt\w*|ermäßig\w*|frei|gratis|inbegriffen"
    r"|inklusive|kosten\w*|kostet|miete|nichts|preis\w*|rabatt\w*|trägt|übernimmt|umsonst|unentgeltlich|zahl\w*)\b"
    r"|\w(?:beitrag|entgelt|gebühr|kosten|miete|preis|tarif)\w*|\bgebühr\w*"
    r"|\b(?:coût\w*|cotis\w+|devis|entrée libre|frais|gratuit\w*|loyer|offert\w*|pay\w+|prix|remise|tarif\w*)\b"
    r"|\b(?:cobr\w+|cost[ea]\w*|cubiert\w*|cuestan?|cuota\w*|descuento|pag\w+|precio\w*|presupuesto|tarifa\w*)\b"
    r"|\b(?:a carico|canone|compres[aeio]|cost[aio]\w*|nulla|prezz\w+|preventivo|quot[ae]|ridott[aeio]|sconto"
    r"|tariff\w+)\b"
    r"|\b(?:a cargo|cust[ao]\w*|desconto|grátis|mensalidade|nada|orçamento|preço\w*|taxas?)\b"
    r"|\b(?:aanvraag|bijdrage|betaal\w*|betalen|huur|inbegrepen|inclusief|korting|kost\w*|niets|offerte|prijs\w*"
    r"|prijzen|tarie\w+|vergoed\w*)\b",
    re.IGNORECASE,
)
_SHARE = re.compile(
    r"bonus|charge|commission|discount|fee|provision|rabatt|gebühr|frais|comisión|sconto", re.IGNORECASE
)
_PERCENT = re.compile(r"%|\b(?:per ?cent|prozent|pour cent|por ciento|per cento|por cento|procent)\b", re.IGNORECASE)


def may_lack_price(query: str, text: str, passage: Passage) -> bool:
    """Return whether a question asks what one thing costs, and quotes may well say something else.

    They may if they have no price and no word such as "free" and "fee", or if the passage lacks a word for the thing:
    "forklift hire price", with the prices of other things. That alone is no reason to decline the question, because
    documents may use another word. A code that both have is the thing: "refresher package for a motorcycle, class A2".

    Args:
        query: The question.
        text: The quotes.
        passage: The passage of the first quote.
    """
    question, text = query[:_MAX_QUESTION], text[:_MAX_TEXT]
    if not _ASKS_FOR_PRICE.search(question) or _NO_PRICE_ASKED.search(question):
        return False
    if not (_PRICE.search(_PERCENT.sub("", text)) or (_SHARE.search(question) and _PERCENT.search(text))):
        return True
    return lacks_thing(query, text, passage, _WORDS_OF_PRICES)
