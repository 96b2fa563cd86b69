"""Ligatures, signs of symbol fonts and spread titles in converted files."""

import pytest

from rag.parsing.encodings.symbol_letters import letter_of_symbol, with_letters
from rag.types import Heading, LineBox, Page, ParsedDocument
from tests.parsing import files
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        ("The oﬃce ﬁled eﬀects.", "The office filed effects."),
        ("\uf0b7 one \uf0fc done \uf0e0 next", "• one ✓ done → next"),
        ("5 \uf06dm \uf0b1 2 \uf0b0C", "5 μm ± 2 °C"),
        ("soft\u00adware", "software"),
        ("契　約　書\n\n第　３　条（目的）", "契約書\n\n第３条（目的）"),
        ("# 会 則", "# 会則"),
        ("日　時　　４月２０日\n場　所：公園", "日時　　４月２０日\n場所：公園"),
        ("| 氏　名 | 山 田 | 男　女 |", "| 氏名 | 山田 | 男　女 |"),
        ("大　中　小　合計", "大　中　小　合計"),
        ("03\u20115550 and self\u2010made", "03-5550 and self-made"),
        ("月　火　水", "月　火　水"),
        ("会員　の　皆様", "会員　の　皆様"),
        ("\uf8ff stays", "\uf8ff stays"),
    ],
)
def test_letters_are_written_instead_of_signs(text: str, letters: str) -> None:
    assert with_letters(ParsedDocument(text, title=text)) == ParsedDocument(letters, title=letters)


def test_offsets_move_with_the_text() -> None:
    text = "oﬃce\n\n# ﬁle\n\n契　約　書\n\nend"
    box = LineBox(text.index("#"), text.index("契") - 2, 1, 0, 0, 1, 1)
    moved = with_letters(
        ParsedDocument(
            text,
            headings=(Heading(text.index("#"), 1, "ﬁle"),),
            pages=(Page(0, 1), Page(text.index("end"), 2)),
            line_boxes=(box,),
        )
    )
    assert moved.text[moved.headings[0].start :].startswith("# file")
    assert moved.headings[0].title == "file"
    assert moved.text[moved.pages[1].start :] == "end"
    assert moved.text[moved.line_boxes[0].start : moved.line_boxes[0].end] == "# file"


@pytest.mark.parametrize(
    ("code", "font", "letter"),
    [(0xF061, "Symbol", "α"), (0x61, "Symbol", "α"), (0xF0FE, "Wingdings", "☑"), (0xF0E5, "SymbolPS", "∑")],
)
def test_signs_of_symbol_fonts(code: int, font: str, letter: str) -> None:
    assert letter_of_symbol(code, font) == letter
    assert letter_of_symbol(code, "Arial") == letter_of_symbol(0xF061, "Wingdings") == ""


def test_files_are_read_with_letters_but_texts_stay_as_they_are(read: Read) -> None:
    assert read(files.docx(files.paragraph("The oﬃce \uf0b7")), "a.docx").text == "The office •"
    assert read("The oﬃce \uf0b7".encode(), "a.txt").text == "The oﬃce \uf0b7"


def test_signs_that_word_stores_with_their_font_are_read(read: Read) -> None:
    signs = (("Wingdings", "F0FE"), ("Symbol", "F061"), ("MS Gothic", "2610"), ("Other", "F0"))
    runs = "".join(
        f'<w:r><w:sym w:font="{font}" w:char="{code}"/><w:t xml:space="preserve"> </w:t></w:r>' for font, code in signs
    )
    assert read(files.docx(f"<w:p>{runs}</w:p>"), "a.docx").text == "☑ α ☐ ð"


@pytest.mark.parametrize("unit", ["ﬁ", "契　", "契 約\n", "| 契 約 ", "第　３　", "# ", "契　" * 9 + "。"])
def test_letters_are_written_in_linear_time(unit: str) -> None:
    def build(length: int, seed: int) -> ParsedDocument:
        text = f"{seed}" + unit * (length // len(unit))
        return ParsedDocument(text, headings=tuple(Heading(start, 1, "") for start in range(0, length, 100)))

    assert takes_linear_time(lambda text: with_letters(build(len(text), 1)), lambda length, seed: "x" * length, 200_000)
