"""Formulas in Word documents."""

import pytest

from tests.parsing.conftest import Read
from tests.parsing.files.office import WORD, docx

_MATH = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def _m(name: str, *parts: str, **properties: str) -> str:
    shown = "".join(f'<m:{key} m:val="{value}"/>' for key, value in properties.items())
    return f"<m:{name}><m:{name}Pr>{shown}</m:{name}Pr>{''.join(parts)}</m:{name}>"


def _r(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


def _with(name: str, text: str) -> str:
    return f"<m:{name}>{text}</m:{name}>"


_SQUARE = _m("sSup", _with("e", _r("x")), _with("sup", _r("2")))


@pytest.mark.parametrize(
    ("formula", "text"),
    [
        (_r("a=b"), "a=b"),
        (_m("f", _with("num", _r("2")), _with("den", _r("a+b"))), "2/(a+b)"),
        (_m("sSubSup", _with("e", _r("C")), _with("sub", _r("d")), _with("sup", _r("10"))) + _r("b"), "C_d^10 b"),
        (_m("sSup", _with("e", _r("e")), _with("sup", _SQUARE)) + _r("y") + _SQUARE, "e^(x^2) yx^2"),
        (_m("rad", _with("deg", ""), _with("e", _r("2g"))), "√(2g)"),
        (_m("rad", _with("deg", _r("3")), _with("e", _r("x"))), "3√x"),
        (
            _m("nary", _with("sub", _r("i=1")), _with("sup", _r("n")), _with("e", _r("i")), chr="∑"),
            "∑_(i=1)^n i",
        ),
        (_m("d", _with("e", _r("a")), _with("e", _r("b")), begChr="[", sepChr=",", endChr="]"), "[a,b]"),
        (_m("d", _with("e", _SQUARE)), "(x^2)"),
        (_m("m", _with("mr", _with("e", _r("1")) + _with("e", _r("2"))), _with("mr", _with("e", _r("3")))), "1, 2; 3"),
        (_m("func", _with("fName", _r("sin")), _with("e", _r("x"))), "sin x"),
        (_m("limLow", _with("e", _r("lim")), _with("lim", _r("x"))), "lim_x"),
        (_m("acc", _with("e", _r("v"))), "v"),
    ],
)
def test_formulas_are_part_of_their_sentence(read: Read, formula: str, text: str) -> None:
    before, behind = ('<w:r><w:t xml:space="preserve">The sum ', "</w:t></w:r>"), "<w:r><w:t>, as above.</w:t></w:r>"
    body = f"<w:p {_MATH}>{''.join(before)}<m:oMath>{formula}</m:oMath>{behind}</w:p>"
    assert read(docx(body), "a.docx").text == f"The sum {text}, as above."


def test_formulas_on_lines_of_their_own_are_paragraphs(read: Read) -> None:
    formulas = f"<m:oMath>{_r('a=b')}</m:oMath><m:oMath>{_r('*c*')}</m:oMath>"
    body = (
        f'<w:p xmlns:w="{WORD}" {_MATH}><m:oMathPara>{formulas}</m:oMathPara></w:p><w:p><w:r><w:t>End</w:t></w:r></w:p>'
    )
    assert read(docx(body), "a.docx").text == "a=b*c*\n\nEnd"


def test_the_caption_of_a_table_that_is_read_aloud_is_left_out(read: Read) -> None:
    cells = "".join(f"<w:tc><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:tc>" for text in ("Town", "Size"))
    table = f'<w:tbl><w:tblPr><w:tblCaption w:val="Towns"/></w:tblPr><w:tr>{cells}</w:tr><w:tr>{cells}</w:tr></w:tbl>'
    assert "Towns" not in read(docx(table), "a.docx").text
