"""Accents that are written apart from their letters: programs such as TeX draw an "é" as "e" and "´" over it."""

import unicodedata
from collections.abc import Callable

# Takes the place of a character that is left out: other characters keep their numbers on the page.
LEFT_OUT = "\ue92b"
_COMBINING = {
    "`": "\u0300",
    "´": "\u0301",
    "ˆ": "\u0302",
    "^": "\u0302",
    "˜": "\u0303",
    "~": "\u0303",
    "¯": "\u0304",
    "˘": "\u0306",
    "˙": "\u0307",
    "¨": "\u0308",
    "˚": "\u030a",
    "˝": "\u030b",
    "ˇ": "\u030c",
    "¸": "\u0327",
    "˛": "\u0328",
}
_DOTLESS = {"ı": "i", "ȷ": "j"}
# How far from its letter an accent is written, in characters: some programs write those of a line after it.
_MAX_DISTANCE = 120
# Of a page: more are a drawing, or an attack.
_MAX_ACCENTS = 3_000
# In heights of a letter: how much higher the accent of a capital is, and the gap between two words.
_MAX_RAISED, _GAP = 0.6, 0.17

Box = tuple[float, float, float, float]


class Accents:
    """Puts the accents of a page over their letters.

    Args:
        box: Returns left, bottom, right and top of the character of a number.
        base_line: Returns the height of its base line.
        size: Returns the size of its font.
    """

    def __init__(
        self, box: Callable[[int], Box], base_line: Callable[[int], float], size: Callable[[int], float]
    ) -> None:
        self._box, self._base_line, self._size = box, base_line, size
        self._boxes: dict[int, Box] = {}

    def compose(self, text: str) -> str:
        """Return the text of a page, as long as before, with `LEFT_OUT` for what was composed with other letters."""
        places = [place for place, character in enumerate(text) if character in _COMBINING]
        if not 0 < len(places) <= _MAX_ACCENTS:
            return text
        characters = list(text)
        for place in places:
            self._compose(characters, place)
        return "".join(characters)

    def _compose(self, characters: list[str], place: int) -> None:
        left, _, right, _ = self._sides(place)
        middle, size, line = (left + right) / 2, self._size(place), self._base_line(place)
        for letter in self._letters_near(characters, place):
            letter_left, _, letter_right, _ = self._sides(letter)
            if not letter_left - size / 10 <= middle <= letter_right + size / 10:
                continue
            if not -0.1 * size <= line - self._base_line(letter) <= _MAX_RAISED * size:
                continue
            base = _DOTLESS.get(characters[letter], characters[letter])
            composed = unicodedata.normalize("NFC", base + _COMBINING[characters[place]])
            if len(composed) == 1:
                characters[letter], characters[place] = composed, LEFT_OUT
                self._join_words(characters, place, size)
                return

    def _letters_near(self, characters: list[str], place: int) -> list[int]:
        """Return the letters near a place, the nearest first."""
        places = range(max(0, place - _MAX_DISTANCE), min(len(characters), place + _MAX_DISTANCE))
        letters = [number for number in places if characters[number].isalpha()]
        return sorted(letters, key=lambda number: abs(number - place))

    def _join_words(self, characters: list[str], place: int, size: float) -> None:
        """Leave out the spaces around an accent that are within a word: pdfium puts them where letters jump."""
        before, after = place - 1, place + 1
        while before >= 0 and characters[before] in (" ", LEFT_OUT):
            before -= 1
        while after < len(characters) and characters[after] in (" ", LEFT_OUT):
            after += 1
        spaces = [number for number in range(before + 1, after) if characters[number] == " "]
        if before < 0 or after == len(characters):
            return
        gap = self._sides(after)[0] - self._sides(before)[2]
        is_word = -size / 2 < gap < _GAP * size and characters[before].isalpha() and characters[after].isalpha()
        for number in spaces if is_word else spaces[1:]:
            characters[number] = LEFT_OUT

    def _sides(self, number: int) -> Box:
        if number not in self._boxes:
            self._boxes[number] = self._box(number)
        return self._boxes[number]
