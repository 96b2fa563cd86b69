"""The type of answer that the words of a question ask for: a time, a price, a number, a version, a contact and others.

Questions are in English, German, French, Spanish, Italian, Portuguese or Dutch; others in `other_scripts`.
"""

import functools
import re
from collections.abc import Sequence

from rag.text.function_words import ALL_FUNCTION_WORDS
from rag.text.languages import snowball_algorithm
from rag.text.markup import links
from rag.text.quantities.amounts import find_amounts, find_unit
from rag.text.quantities.number_words import NUMBERS_BY_LANGUAGE
from rag.text.quantities.years import YEAR
from rag.text.words import stem

from . import other_scripts
from .answer_patterns import ANSWERS, MONTH_NAMES, AnswerType

# "What is the phone number of the vet?", "E-mail address of the vet"; not "What is the format of a phone number?", nor
# "How do I change my e-mail address?".
_NOT_ASKED = (
    r"(?:a|add|am|an|another|are|block|by|can|change|confirm|confirmation|delete|did|do|does|edit|enter|export|forgot|format"
    r"|from|has|have|hide|how|i|invalid|invitation|is|lost|may|merge|missing|my|need|new|no|notification|other|receive"
    r"|remove|reset|same|second|send|sending|set|share|several|should|spam|test|two|update|use|verification|verify|via|we"
    r"|welcome|where|who|whose|why|without|wrong|you|your)"
)
_ASKS_FOR_CONTACT = (
    r"(?:(?:what|which)(?:'s|’s| is| are) (?:the|your|our|their|his|her|\w+['’]s) (?:(?!of\b|for\b)[\w’'-]+ ){{0,3}}"
    r"(?:{english})(?=\W*\Z| (?:of|that|to) )"
    r"|(?:wie lautet|was ist) (?:die |eure |ihre |deine )?(?:{german})(?=\W*\Z| (?:de[rsm]|von|vom) )"
    r"|quel(?:le)? est (?:le |la |l['’]|votre )?(?:{french})(?=\W*\Z| (?:de|du|des) )"
    r"|cuál es (?:el |la |su )?(?:{spanish})(?=\W*\Z| (?:de|del) )"
    r"|qual è (?:il |l['’])(?:{italian})(?=\W*\Z| (?:d[ei]l?|degli|dell[aeo]|per) | dell['’])"
    r"|qual é o (?:{portuguese})(?=\W*\Z| (?:de|d[aeo]s?|para) )"
    r"|wat is (?:het |jullie |uw )?(?:{dutch})(?=\W*\Z| (?:van|voor) )"
    # "invoice desk e-mail address" and "vet phone" are asked without a verb.
    r"|\A\W*(?!.*\b{not_asked}\b)(?:[\w’'-]+ ){{0,4}}(?:{english}|{short})\W*\Z"
    r"|\A\W*(?:{english}) of |\A\W*(?:{german}) (?:de[rs]|von|vom) [\w-]+(?: [\w-]+)?\W*\Z"
    r"|\A\W*(?:{french}) (?:de|du|des) |\A\W*(?:{spanish}) (?:de|del) "
    r"|\A\W*(?:{italian}) (?:d[ei]l?|degli|dell[aeo]|dell['’]\w+) |\A\W*(?:{portuguese}) (?:de|d[aeo]s?) "
    r"|\A\W*(?:{dutch}) van )"
)
_QUESTIONS = {
    AnswerType.PHONE_NUMBER: _ASKS_FOR_CONTACT.format(
        not_asked=_NOT_ASKED,
        english="(?:tele|mobile )?phone number|fax number",
        short="(?:tele)?phone",
        german=r"\w*(?:telefon|handy|fax|ruf)nummer",
        french="numéro de (?:téléphone|portable|fax)",
        spanish="número de (?:teléfono|móvil|fax)",
        italian="numero di (?:telefono|cellulare|fax)",
        portuguese="número de (?:telefone|telemóvel|celular|fax)|telefone",
        dutch=r"\w*(?:telefoon|fax)nummer|mobiele nummer",
    )
    + r"|(?:which|what) number (?:do|can|should|must) (?:i|we) (?:call|dial|ring|phone)",
    AnswerType.EMAIL_ADDRESS: _ASKS_FOR_CONTACT.format(
        not_asked=_NOT_ASKED,
        english="e-?mail address",
        short="e-?mail",
        german=r"(?:e-?)?mail-?adresse",
        french="adresse (?:e-?mail|mail|électronique|de courriel)",
        spanish="dirección de correo(?: electrónico)?|correo electrónico",
        italian="indirizzo (?:e-?mail|mail|di posta elettronica)",
        portuguese="(?:endereço de )?e-?mail|endereço (?:eletr[óô]nico|de correio eletr[óô]nico)",
        dutch="(?:e-?)?mail-?adres",
    ),
    AnswerType.YEAR: r"(?:which|what) years? (?:was|were|is|did|does|has|have)|in welchem jahr (?!de[rs]\b)"
    r"|quelle année|qué año|in (?:che|quale) anno|(?:em|de|desde) (?:que|qual) ano|in welk jaar",
    # "Can I keep it when I leave?" does not ask for a time.
    AnswerType.TIME: r"\A\W*(?:(?:and|since|until|by|seit|bis|ab|von|depuis|dès|jusqu['’]à|à partir de|desde|hasta"
    r"|a partir de|da|entro|fino a|até|tot|vanaf"
    r"|sinds|where and|wo und|où et|dónde y|dove e|onde e|waar en) )?(?:when|wann|quand|cuándo|quando|wanneer)"
    r"|what time|(?:which|what) (?:day|date|month)|what (?:is|was) the (?:year|date)|how (?:soon|late|early|often)"
    r"|(?:um|ab|bis|von) wie ?viel uhr|wie oft|(?:an )?welche[mnrs]? (?:(?:wochen|werk|feier)?tag|datum|monat)"
    r"|(?:jusqu['’])?à quelle heure|quelle heure|quel(?:le)?s? (?:jour|date|mois)"
    r"|(?:a|de|desde|hasta) qué hora|qué (?:día|fecha|mes)"
    r"|\A\W*che or[ae]|(?:a|da|entro|fino a) che ora|a quale ora|ogni quanto|con che frequenza"
    r"|(?:che|quali?) (?:giorn[oi]|date?|mes[ei])|a que hora|que horas|com que frequência"
    r"|(?:que|quais) (?:dias?|data|mês)|hoe (?:laat|vaak)|welke (?:dag(?:en)?|datum|maand)",
    AnswerType.DURATION: r"how long|wie lange|combien de temps|cuánto tiempo|quanto (?:tempo|dura|demora|ci vuole)"
    r"|hoe lang",
    AnswerType.PRICE: r"how much (?:does|do|did|is|are) .{1,80} costs?|what (?:does|do|did) .{1,80} costs?"
    r"|how (?:expensive|high (?:is|are) .{0,40}(?:bonus|fee|price|rent|salary|cost)s?)"
    r"|what (?:is|was|are) the (?:price|cost|fee|rent|salary)|was kostet|wie teuer|combien coûte|cuánto cuesta"
    r"|quanto (?:costa(?:no)?|custam?|si paga|se paga)|qual è il (?:costo|prezzo)|qual é o (?:custo|preço)"
    r"|(?:hoeveel|wat) kost(?:en)?|hoe duur|wat is de (?:huur|prijs)"
    r"|\A\W*(?:prezz[oi]|cost[oi]|tariff[ae]|preços?|custo|prij(?:s|zen)|tarie(?:f|ven)) (?:d[aeio]s?|dell?[ao]?"
    r"|per|van|voor)"
    # "Annual fee for teachers" is asked without a verb.
    r"|\A\W*(?:\w+ )?(?:price|cost|fee|fare|rent|salary|wage|preise?|kosten|gebühr(?:en)?|prix|tarife?|precio"
    r"|tarifa)s? (?:of|for|per|für|der|des|de|du|pour|del)",
    AnswerType.VERSION: r"(?:which|what|welche|quelle|qué) (?:\w+ )?(?:version|release|versión)"
    r"|(?:che|quale|que|qual|welke) (?:\w+ )?(?:versione|versão|versie)",
    AnswerType.NUMBER: r"how (?:many|much|large|big|heavy|high|old|far|fast|tall|wide|deep)"
    r"|what (?:is|was|are) the (?:number|size|length|weight|limit|maximum|minimum)"
    r"|wie (?:viel|viele|hoch|groß|alt|schwer|weit)|combien|cuánto|cuánta|cuántos|cuántas"
    # Not "Per quanto riguarda …", "in quanto" and "quanto a".
    r"|(?<!per )(?<!in )quant[aeio]s?(?! (?:a[ilo]?|all[aeo]|aos?|às?|riguarda)\b)|hoeveel"
    r"|hoe (?:groot|hoog|oud|zwaar|ver)",
}
# "At what age may it be sold?", "In which interval …?", "What is the default limit?": an amount, of whatever it is.
_MEASURES = (
    r"(?:(?:age|amount|bound|cap|capacity|depth|discount|distance|dose|duration|fee|frequency|height|humidity|interval|length"
    r"|limit|maximum|minimum|percentage|percent|period|pressure|share|size|speed|temperature|threshold|thickness"
    r"|voltage|volume|weight|width)s?(?:['’ -]{1,3}(?P<following>[^\W\d_]+))?)"
    r"|\w*(?:alter|anteil|betrag|breite|dauer|frist|gebühr|geschwindigkeit|gewicht|größe|höhe|länge|menge|rabatt"
    r"|temperatur|tiefe)|âge|délai|durée|hauteur|longueur|poids|remise|taille|température|vitesse|altura|descuento"
    r"|duración|edad|longitud|peso|plazo|tamaño|temperatura|velocidad"
    r"|altezza|durata|età|larghezza|lunghezza|profondità|sconto|velocità|comprimento|desconto|duração|idade|largura"
    r"|profundidade|velocidade|\w*(?:afstand|bedrag|breedte|diepte|duur|gewicht|hoogte|korting|leeftijd|lengte|snelheid"
    r"|temperatuur|termijn)"
)
_AMOUNT_QUESTION = re.compile(
    r"\b(?:what|which|welche[rsmn]?|quel(?:le)?s?|cuál(?:es)?|qué|quali?|quais|wat|welke?|(?:che|que)(?= (?:altezza|età"
    r"|larghezza|profondità|sconto|velocità|desconto|idade|largura|profundidade|velocidade)\b))(?:['’]s)?"
    r"(?: (?:is|are|was|were|ist|sind|est|sont|es|son|è|é|são))?(?: (?:the|your|our|der|die|das|la|le|el|il))?"
    rf"(?: | l['’])(?:(?!(?:of|for|to|do|does|did|the)\b|an? (?:age|interval|limit|share|threshold)\b)[\w-]+ ){{0,2}}"
    rf"(?:{_MEASURES})\b"
    r"|\bhow (?:close|cold|hot|loud|low|near|short|small|strong|thick|thin|warm)\b",
    re.IGNORECASE,
)
_QUESTION_PATTERNS = {kind: re.compile(rf"(?<!\w)(?:{words})\b", re.IGNORECASE) for kind, words in _QUESTIONS.items()}
_ANSWER_PATTERNS = {kind: re.compile(words, re.IGNORECASE) for kind, words in ANSWERS.items()}
# "How many keys do I get?" asks for a number of keys.
_COUNT_QUESTION = re.compile(
    r"(?<!\w)(?:how many|wie ?viele|combien de|cuánt[oa]s|quant[ie]|quant[oa]s"
    r"|hoeveel(?= [^\W\d_]+(?:en|s)\b)(?! (?:betalen|kosten|krijgen|kunnen|moeten|mogen|wegen)\b))"
    r"(?P<nouns>(?: [^\W\d_]+){1,3})",
    re.IGNORECASE,
)
_NUMBER_OR_WORD = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+")
_WORD = re.compile(r"\w+(?:[.,:]\d+)*")  # "37signals" is a name
# "250 of our loyal customers" says how many there are, "each customer names contact persons: two" does not.
_MAX_WORDS_BEHIND, _MAX_WORDS_BEFORE = 4, 3
_ONE_OR_NONE = re.compile(
    r"one|no|none|(?:k?eine?|ein)[nmr]?|une?|una|aucune?|ningun[ao]|ningún|nessun[oa]?|nenhuma?|uma|geen|een",
    re.IGNORECASE,
)
# "2.1 Each customer", but not "1.200 members".
_CLAUSE_NUMBER = re.compile(r"^\W{0,4}\d{1,2}(?:\.\d{1,2}){1,3}\.? (?=[A-ZÀ-ÖØ-Þ])", re.MULTILINE)
_ITEM_NUMBER = re.compile(r"\A\(?\d{1,3}[.)]\s")
# These numbers count nothing.
_DATE_OR_VERSION = re.compile(
    r"\b(?:version|versione|versão|versie|v\.?) ?\d[\d.]*"
    # "Up to 12 may join" has no date.
    r"|(?<![\w.])\d\d?(?:st|nd|rd|th|er|\.|°|º)? (?:de )?(?!(?-i:may|march)\b)"
    rf"(?:{MONTH_NAMES})\b(?: (?:de )?{YEAR})?"
    rf"|\b(?:{MONTH_NAMES}) {YEAR}|(?<![\w.])\d\d?\.\d\d?\.\d{{2,4}}(?!\w)",
    re.IGNORECASE,
)
_MAX_QUESTION_CHARACTERS, _MAX_ANSWER_CHARACTERS = 500, 2_000
# Their answers may be where a link leads: `[Call us](tel:0123)`.
_CONTACTS = frozenset({AnswerType.PHONE_NUMBER, AnswerType.EMAIL_ADDRESS})


@functools.lru_cache(maxsize=64)  # each question is examined about five times
def expected_answer_type(question: str) -> AnswerType | None:
    """Return the type of answer that a question asks for; None if its words do not say it."""
    text = question[:_MAX_QUESTION_CHARACTERS]
    known = next((kind for kind, pattern in _QUESTION_PATTERNS.items() if pattern.search(text)), None)
    return known or other_scripts.expected_type(text)


def asks_for_amount(question: str) -> bool:
    """Return whether a question asks for an amount of something, though not in the words of a type of answer.

    "What is the discount code?" and "which speed camera" do not: their first noun only says which kind it is.
    """
    match = _AMOUNT_QUESTION.search(question[:_MAX_QUESTION_CHARACTERS])
    if match is None or expected_answer_type(question) is not None:
        return False
    following = (match["following"] or "").lower()
    return following in ALL_FUNCTION_WORDS or following in ("", "apply", "applies")


def has_amount(text: str) -> bool:
    """Return whether a text has a number, in digits or words, that is no part of a date or version."""
    return has_answer_of_type(text, AnswerType.NUMBER)


def has_answer_of_type(text: str, answer_type: AnswerType) -> bool:
    """Return whether a text contains an answer of this type. The number before a list item is none.

    Neither are dates and versions if a number of things is asked for, nor what is in the address of a link, unless
    that is asked for.
    """
    text = _ITEM_NUMBER.sub("", text[:_MAX_ANSWER_CHARACTERS])
    if answer_type not in _CONTACTS:
        text = links.without_addresses(text)
    if answer_type is AnswerType.NUMBER:
        text = _DATE_OR_VERSION.sub(" ", text)
    return bool(_ANSWER_PATTERNS[answer_type].search(text)) or other_scripts.has_answer(text, answer_type)


def counted_words(question: str) -> list[str]:
    """Return the words behind "how many", in lower case and without function words; nothing if that is not asked."""
    match = _COUNT_QUESTION.search(question[:_MAX_QUESTION_CHARACTERS])
    return [word for word in match["nouns"].lower().split() if word not in ALL_FUNCTION_WORDS] if match else []


def counts_together(text: str, counted: Sequence[str], lang: str) -> bool:
    """Return whether a number has several words right behind it, in any order.

    "20 days of vacation" counts what "How many vacation days …?" asks for, "27 days at any time" something else.

    Args:
        text: The text.
        counted: The words (`counted_words`).
        lang: The language of the text, as documents declare it.
    """
    stems, is_number = {stem(word, lang) for word in counted}, _ANSWER_PATTERNS[AnswerType.NUMBER].match
    if len(stems) < 2:
        return False
    words = _WORD.findall(links.without_addresses(text[:_MAX_ANSWER_CHARACTERS]).lower())

    def counts(place: int) -> bool:
        is_name = words[place][0].isdigit() is not words[place][-1].isdigit()
        behind = {stem(word, lang) for word in words[place + 1 : place + 1 + _MAX_WORDS_BEHIND]}
        return bool(is_number(words[place])) and not is_name and stems <= behind

    return any(map(counts, range(len(words))))


def has_count(text: str, question: str, lang: str) -> bool:
    """Return whether a text has a number near what a question wants to be counted: "How many keys do I get?".

    The noun may be the second or third word, as in "how many of the rooms". An amount of the unit that is asked for
    counts, too: "30 min" for "how many minutes".

    Args:
        text: The text.
        question: The question. The result is True if it does not ask "how many".
        lang: The language of both, as documents declare it.
    """
    counted = counted_words(question)
    text = links.without_addresses(_CLAUSE_NUMBER.sub("", text[:_MAX_ANSWER_CHARACTERS]))
    unit = find_unit(counted[0]) if counted else ""
    if not counted or any(amount.unit == unit for amount in find_amounts(text)):
        return True
    language = snowball_algorithm(lang)
    names = NUMBERS_BY_LANGUAGE.get(language, {})
    stems, is_number = {stem(word, lang) for word in counted}, _ANSWER_PATTERNS[AnswerType.NUMBER].match
    lowered = text.lower()
    matches = list(_NUMBER_OR_WORD.finditer(lowered))
    words = [match.group() for match in matches]
    nouns = [index for index, word in enumerate(words) if stem(word, lang) in stems or word.endswith(counted[0])]

    def counts(place: int, noun: int) -> bool:
        is_article = (
            place > noun and lowered[matches[place].end() : matches[place].end() + 2].strip().isalpha()
        )  # "a room has a desk"
        word = words[place]
        is_one = bool(_ONE_OR_NONE.fullmatch(word)) or (word == "um" and language == "portuguese")
        return bool(is_number(word) or word in names or (is_one and not is_article))

    return any(
        counts(place, index)
        for index in nouns
        for place in range(max(0, index - _MAX_WORDS_BEHIND), min(len(words), index + _MAX_WORDS_BEFORE + 1))
    )
