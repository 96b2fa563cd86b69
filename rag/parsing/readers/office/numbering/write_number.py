"""Writes a number in the formats of office programs: letters, Roman, Chinese, in words."""

# Above it, numbers are written in digits in all formats: nobody reads such a Roman number or a hundred letters.
_MAX_NUMBER = 3_999
_ROMAN = tuple(
    zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"),
        strict=True,
    )
)
_LATIN = "abcdefghijklmnopqrstuvwxyz"
_ALPHABETS = {
    "lowerLetter": _LATIN,
    "upperLetter": _LATIN.upper(),
    "russianLower": "абвгдежзиклмнопрстуфхцчшщыэюя",
    "russianUpper": "АБВГДЕЖЗИКЛМНОПРСТУФХЦЧШЩЫЭЮЯ",
    "lowerGreek": "αβγδεζηθικλμνξοπρστυφχψω",
    "upperGreek": "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩ",
    "hebrew2": "אבגדהוזחטיכלמנסעפצקרשת",
    "arabicAlpha": "أبتثجحخدذرزسشصضطظعغفقكلمنهوي",
    "ganada": "가나다라마바사아자차카타파하",
    "chosung": "ㄱㄴㄷㄹㅁㅂㅅㅇㅈㅊㅋㅌㅍㅎ",
    "aiueo": "アイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワヲン",
    "iroha": "イロハニホヘトチリヌルヲワカヨタレソツネナラムウヰノオクヤマケフコエテアサキユメミシヱヒモセスン",
    "ideographTraditional": "甲乙丙丁戊己庚辛壬癸",
    "ideographZodiac": "子丑寅卯辰巳午未申酉戌亥",
}
_ALPHABETS |= {"aiueoFullWidth": _ALPHABETS["aiueo"], "irohaFullWidth": _ALPHABETS["iroha"]}
# In these, 27 is "aa"; in others it is written in digits.
_REPEATED = ("lowerLetter", "upperLetter")
_DIGITS = {
    "decimalFullWidth": "0123456789",
    "decimalFullWidth2": "0123456789",
    "ideographDigital": "〇一二三四五六七八九",
    "japaneseDigitalTenThousand": "〇一二三四五六七八九",
    "taiwaneseDigital": "〇一二三四五六七八九",
    "koreanDigital": "영일이삼사오육칠팔구",
    "hindiNumbers": "०१२३४५६७८९",
    "thaiNumbers": "๐๑๒๓๔๕๖๗๘๙",
}
_CHINESE = "一二三四五六七八九"
# The characters of the digits and of the places, what is written for a place that is left out, and whether the one of
# 100 is written.
_COUNTED = {
    **dict.fromkeys(
        ("chineseCounting", "chineseCountingThousand", "taiwaneseCounting", "taiwaneseCountingThousand"),
        (_CHINESE, "千百十", "零", True),
    ),
    "japaneseCounting": (_CHINESE, "千百十", "", False),
    "koreanCounting": ("일이삼사오육칠팔구", "천백십", "", False),
}
_ENCLOSED = ("decimalEnclosedCircle", "decimalEnclosedCircleChinese", "ideographEnclosedCircle")
_MAX_ENCLOSED = 20
_CARDINALS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_ORDINALS = [
    *("first", "second", "third", "fourth", "fifth", "sixth"),
    *("seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth"),
]


def write_number(number: int, number_format: str, lang: str = "") -> str:
    """Return a number in a format of WordprocessingML (ECMA-376, 17.18.59); in digits if the format is another one.

    Args:
        number: The number.
        number_format: The name of the format, such as `upperRoman`.
        lang: The language of the document, which decides how ordinal numbers are written; empty if it is not known.
    """
    if number_format == "decimalZero":
        return f"{number:02}"
    if not 0 < number <= _MAX_NUMBER:
        return str(number)
    if number_format in ("upperRoman", "lowerRoman"):
        roman = _roman(number)
        return roman if number_format == "upperRoman" else roman.lower()
    if alphabet := _ALPHABETS.get(number_format):
        return _letter(number, alphabet, is_repeated=number_format in _REPEATED)
    if digits := _DIGITS.get(number_format):
        return "".join(digits[int(digit)] for digit in str(number))
    if number_format in _COUNTED:
        return _counted(number, *_COUNTED[number_format])
    if number_format in _ENCLOSED and number <= _MAX_ENCLOSED:
        return chr(ord("①") + number - 1)
    if number_format.startswith("ordinal") or number_format == "cardinalText":
        return _in_words(number, number_format, lang)
    return str(number)


def _roman(number: int) -> str:
    parts = []
    for value, letters in _ROMAN:
        parts.append(letters * (number // value))
        number %= value
    return "".join(parts)


def _letter(number: int, alphabet: str, *, is_repeated: bool) -> str:
    rounds, place = divmod(number - 1, len(alphabet))
    return alphabet[place] * (rounds + 1) if is_repeated or not rounds else str(number)


def _counted(number: int, digits: str, places: str, zero: str, writes_one: bool) -> str:
    """Return a number in Chinese characters: 10 is 十, 21 二十一, 105 一百零五."""
    text, is_skipped = "", False
    for digit, place in zip(f"{number:04}", [*places, ""], strict=True):
        if digit == "0":
            is_skipped = bool(text)
            continue
        has_no_one = digit == "1" and place and (not writes_one or (place == places[-1] and not text))
        text += (zero if is_skipped else "") + ("" if has_no_one else digits[int(digit) - 1]) + place
        is_skipped = False
    return text


def _in_words(number: int, number_format: str, lang: str) -> str:
    is_english = lang.lower().startswith("en") or not lang
    words = _CARDINALS if number_format == "cardinalText" else _ORDINALS
    if number_format != "ordinal" and is_english and number <= len(words):
        return words[number - 1].capitalize()
    if number_format == "cardinalText":
        return str(number)
    if not is_english:
        return f"{number}."
    is_teen = number // 10 % 10 == 1
    return f"{number}{'th' if is_teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"
