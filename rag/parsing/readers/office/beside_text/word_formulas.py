"""Formulas of Word documents as text on one line: "Q=2/3 b √(2g) h^(3/2)".

xberg puts each formula on a line of its own above its paragraph, so that the sentence lacks it, and writes LaTeX. The
form is that of Word's own linear formulas (Unicode Technical Note 28).
"""

from lxml import etree

from .word_paragraph import word_run

_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_TEXTS = frozenset({f"{_MATH}t", f"{_WORD}t"})


def write_formulas(root: etree._Element) -> None:
    """Replace each formula by its text.

    Args:
        root: The part `word/document.xml`, which is changed.
    """
    for outer in list(root.iter(f"{_MATH}oMathPara")):
        for formula in outer.findall(f"{_MATH}oMath"):
            outer.addprevious(formula)
        _remove(outer)
    for formula in list(root.iter(f"{_MATH}oMath")):
        if text := " ".join(_linear(formula).split()):
            formula.addprevious(word_run(text))
        _remove(formula)


def _linear(element: etree._Element | None) -> str:
    """Return the text of a part of a formula."""
    if element is None:
        return ""
    if element.tag in _TEXTS:
        return element.text or ""
    kind = str(element.tag).removeprefix(_MATH)
    base = _part(element, "e")
    if kind == "f":
        return f" {_group(_part(element, 'num'))}/{_group(_part(element, 'den'))} "
    if kind in ("sSub", "sSup", "sSubSup", "nary", "limLow", "limUpp"):
        low = _part(element, "sub") or (_part(element, "lim") if kind == "limLow" else "")
        high = _part(element, "sup") or (_part(element, "lim") if kind == "limUpp" else "")
        scripts = (f"_{_group(low)}" if low else "") + (f"^{_group(high)}" if high else "")
        return f"{_property(element, 'chr', '∫')}{scripts} {base} " if kind == "nary" else f"{base}{scripts} "
    if kind == "rad":
        degree = _part(element, "deg")
        return f"{_group(degree) if degree else ''}√{_group(base)} "
    if kind == "d":
        parts = _property(element, "sepChr", "|").join(_linear(part).strip() for part in element.findall(f"{_MATH}e"))
        return f"{_property(element, 'begChr', '(')}{parts}{_property(element, 'endChr', ')')}"
    if kind in ("m", "eqArr"):
        return "; ".join(_linear(row).strip() for row in element.findall(f"{_MATH}{'mr' if kind == 'm' else 'e'}"))
    if kind == "mr":
        return ", ".join(_linear(cell).strip() for cell in element)
    if kind == "func":
        return f"{_part(element, 'fName')} {base}"
    return "".join(map(_linear, element))


def _part(element: etree._Element, name: str) -> str:
    return _linear(element.find(f"{_MATH}{name}")).strip()


def _group(text: str) -> str:
    """Return a part of a formula, in parentheses if it is more than a number or a letter."""
    return text if text.isdecimal() or len(text) == 1 else f"({text})"


def _property(element: etree._Element, name: str, default: str) -> str:
    """Return a sign that the properties of an element name: that of a sum, or a parenthesis."""
    sign = element.find(f"{_MATH}{str(element.tag).removeprefix(_MATH)}Pr/{_MATH}{name}")
    return default if sign is None else sign.get(f"{_MATH}val", default)


def _remove(element: etree._Element) -> None:
    parent = element.getparent()
    if parent is not None:
        parent.remove(element)
