"""The words of numbers, units, currencies, months and days in English and six other languages.

A word that means something else in another of these languages is left out, as the Italian "due" and "sei": the names of
numbers in one language are in `number_words`.
"""

from collections.abc import Iterable


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


# From zero on, so that the position is the value.
ENGLISH_NUMBERS = _words(
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty"
)
# Without the words for one, which are also articles.
NUMBER_WORDS = ENGLISH_NUMBERS[2:] + _words(
    "thirty forty fifty sixty seventy eighty ninety hundred thousand million once twice half "
    "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn "
    "neunzehn zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig hundert tausend einmal "
    "deux trois quatre cinq sept huit neuf dix onze douze treize quatorze quinze seize vingt trente quarante cinquante "
    "soixante cent mille "
    "dos tres cuatro cinco siete ocho nueve diez doce trece catorce quince dieciséis diecisiete dieciocho diecinueve "
    "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa cien mil "
    "tre quattro cinque sette nove dieci undici dodici tredici quattordici quindici sedici diciassette diciotto "
    "diciannove venti trenta quaranta cinquanta sessanta settanta ottanta novanta cento "
    "dois duas três quatro seis sete oito doze treze catorze quatorze dezasseis dezesseis dezassete dezessete dezoito "
    "dezanove dezenove vinte trinta quarenta cinquenta sessenta oitenta "
    "twee drie vijf zes zeven negen tien twaalf dertien veertien vijftien zestien zeventien achttien negentien twintig "
    "dertig veertig vijftig zestig zeventig tachtig negentig honderd duizend anderhalf anderhalve"
)
MONTHS = {
    "english": _words("january february march april may june july august september october november december"),
    "german": _words("januar februar märz april mai juni juli august september oktober november dezember"),
    "french": _words("janvier février mars avril mai juin juillet août septembre octobre novembre décembre"),
    "spanish": _words("enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"),
    "italian": _words("gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre"),
    "portuguese": _words("janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro"),
    "dutch": _words("januari februari maart april mei juni juli augustus september oktober november december"),
}
DAYS = _words(
    "monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays saturday saturdays sunday "
    "sundays montag montags dienstag dienstags mittwoch mittwochs donnerstag donnerstags freitag freitags samstag "
    "samstags sonntag sonntags lundi mardi mercredi jeudi vendredi samedi dimanche lunes martes miércoles jueves "
    "viernes sábado sábados domingo domingos lunedì martedì mercoledì giovedì venerdì sabato domenica segunda-feira "
    "segundas-feiras terça-feira terças-feiras quarta-feira quartas-feiras quinta-feira quintas-feiras sexta-feira "
    "sextas-feiras maandag dinsdag woensdag donderdag vrijdag zaterdag zondag maandags dinsdags woensdags donderdags "
    "vrijdags zaterdags zondags"
)
# Unit → its words. The French "an" is an English article, and "second" and the Italian "secondo" are ordinals.
_TIME_WORDS = {
    "year": "year years jahr jahre jahren ans année années año años anno anni ano anos jaar jaren",
    "month": "month months monat monate monaten mois mes meses mese mesi mês maand maanden",
    "week": "week weeks woche wochen semaine semaines semana semanas settimana settimane weken",
    "day": "day days tag tage tagen jour jours día días giorno giorni dia dias dag dagen",
    "night": "night nights nacht nächte nächten nuit nuits noche noches notte notti noite noites nachten",
    "hour": "h hour hours stunde stunden std heure heures hora horas ora ore uur uren",
    "minute": "min minute minutes minuten minuto minutos minuti minuut",
    "second": "seconds sekunde sekunden seconde secondes segundo segundos secondi",
    "millisecond": "ms millisecond milliseconds",
}
_MONEY_WORDS = {
    "€": "€ eur euro euros",
    "$": "$ usd dollar dollars dollaro dollari dólar dólares",
    "£": "£ gbp pound pounds sterlina sterline",
    "chf": "chf franken francs franc",
    "cent": "cent cents ct pence centesimo centesimi cêntimo cêntimos centavo centavos",
    "brl": "brl reais",
    "cad": "cad",
    "aud": "aud",
    "jpy": "jpy",
    "krone": "sek nok dkk kr",
    "pln": "pln zł",
    "czk": "czk",
    "huf": "huf",
}
_OTHER_WORDS = {
    "%": "% percent prozent procent",
    "kg": "kg kilo kilos kilogram kilograms kilogramm "
    "chilo chilogrammo chilogrammi quilo quilos quilograma quilogramas",
    "g": "g gram grams gramm grammo grammi grama gramas",
    "t": "t tonne tonnes ton tons tonnen tonnellata tonnellate tonelada toneladas",
    "km": "km kilometre kilometres kilometer kilometers kilomètres kilómetros chilometro chilometri quilómetros "
    "quilômetros",
    "m": "m metre metres meter meters mètre mètres metro metros metri",
    "cm": "cm",
    "mm": "mm",
    "l": "l litre litres liter liters litro litros litri",
    "kw": "kw",
    "kwh": "kwh",
    "°c": "°c",
    "person": "person persons people personen personne personnes persona personas pax "
    "persone pessoa pessoas persoon personen",
}
UNIT_OF_WORD = {
    word: unit for words in (_TIME_WORDS, _MONEY_WORDS, _OTHER_WORDS) for unit in words for word in words[unit].split()
}
UNITS_OF_TIME, CURRENCY_UNITS = frozenset(_TIME_WORDS), frozenset(_MONEY_WORDS)
# Words of more than a letter, because "7 h" may be a time.
TIME_UNITS = ("an", "second", *(word for words in _TIME_WORDS.values() for word in words.split() if len(word) > 1))
CURRENCIES = tuple(word for words in _MONEY_WORDS.values() for word in words.split() if len(word) > 1)


def any_of(words: Iterable[str]) -> str:
    """Return a part of a regular expression that matches any of some words, the longest first.

    Args:
        words: The words. They have no characters with a meaning in regular expressions.
    """
    return "|".join(sorted(set(words), key=lambda word: (-len(word), word)))
