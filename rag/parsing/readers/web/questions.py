"""The questions of web pages that are no headings there: those of accordions, lists and plain paragraphs.

They become headings, so that a question stays with its answer. Answers that a click shows are part of the page.
"""

from collections import Counter
from collections.abc import Iterator, Set

import lxml.html
from lxml import etree

from rag.parsing.readers.office.headings.choose_headings import MAX_LEVEL

_HEADINGS = {f"h{level}": level for level in range(1, MAX_LEVEL + 1)}
_BLOCKS = frozenset(
    {"p", "div", "dt", "dd", "li", "ul", "ol", "dl", "table", "section", "article", "pre", "blockquote"}
)
_MAY_BE_QUESTIONS = ("p", "div", "dt", "summary", "button", "a", "span")
_ALONE = ("dt", "summary", "button")
_LINE_BREAK = "br"
_EMPHASIS = frozenset({"b", "strong", "em", "i", "span", "u"})
# What is hidden until somebody clicks on the element that names it.
_CONTROLS = ("aria-controls", "data-target", "data-bs-target", "href")
_HIDDEN_BY = ("hidden", "aria-hidden")
_NOT_DISPLAYED, _NOT_VISIBLE = "display:none", "visibility:hidden"
_MAX_CHARACTERS, _MIN_EQUAL, _MAX_PARENTS = 200, 2, 2
# In the classes of buttons that show a text below them.
_ACCORDIONS = ("accordion", "collaps")
_QUESTION_MARKS = ("?", "？", "؟", "՞")


def show_answers(page: lxml.html.HtmlElement) -> None:
    """Show the answers that are hidden until somebody clicks on their question, which is above them and shown itself.

    What is hidden in another way as well stays hidden: pages hide text from people to influence machines.
    """
    hidden, named = set[lxml.html.HtmlElement](), set[str]()
    for element in page.iter(etree.Element):
        if element.getparent() in hidden:
            hidden.add(element)
        elif _is_hidden(element):
            above = next(element.itersiblings("*", preceding=True), None)  # no comment
            if element.get("id") in named or (above is not None and _is_shown_question(above, hidden)):
                _show(element)
            else:
                hidden.add(element)
        elif names := {element.get(name, "").removeprefix("#") for name in _CONTROLS} - {""}:
            named |= names if _is_shown_question(element, hidden) else set()


def _is_hidden(element: lxml.html.HtmlElement) -> bool:
    style = element.get("style")
    is_by_style = style is not None and any(part in _without_space(style) for part in (_NOT_DISPLAYED, _NOT_VISIBLE))
    return is_by_style or element.get("hidden") is not None or element.get("aria-hidden") == "true"


def _show(element: lxml.html.HtmlElement) -> None:
    parts = element.attrib.pop("style", "").split(";")
    element.set("style", ";".join(part for part in parts if _NOT_DISPLAYED not in _without_space(part)))
    for name in _HIDDEN_BY:
        element.attrib.pop(name, None)


def _without_space(style: str) -> str:
    return "".join(style.split()).lower()


def _is_shown_question(element: lxml.html.HtmlElement, hidden: Set[lxml.html.HtmlElement]) -> bool:
    """Return whether an element is a question, no word of which is hidden."""
    return _is_question(_text(element)) and not any(_text(part) for part in element.iter() if part in hidden)


def mark_questions(page: lxml.html.HtmlElement) -> None:
    """Make headings of questions that have an answer below them, each below the heading before it.

    Plain paragraphs are such questions if several are alike.
    """
    for element in [*page.iter("li"), *page.iter("p"), *page.iter("div")]:
        _divide(element)
    answered = [(element, _kind(element)) for element in page.iter(*_MAY_BE_QUESTIONS) if _has_answer(element)]
    counts = Counter(kind for _, kind in answered)
    questions = set[lxml.html.HtmlElement]()
    for element, kind in answered:  # an element comes before those within it
        is_known = any(above in questions or above.tag in _HEADINGS for above in element.iterancestors())
        if not is_known and (element.tag in _ALONE or counts[kind] >= _MIN_EQUAL):
            questions.add(element)
    level = 1
    for element in list(page.iter(*_HEADINGS, *_MAY_BE_QUESTIONS)):
        if element in questions:
            element.tag = f"h{min(level + 1, MAX_LEVEL)}"
            _open_list(element.getparent())
        else:
            level = _HEADINGS.get(element.tag, level)


def _divide(element: lxml.html.HtmlElement) -> None:
    """Give a question a block of its own that an element begins with, before a block or a line break."""
    inline, end = _text_before_block(element)
    if end is None or not _is_question(inline):
        return
    question = etree.Element("p")
    question.text, element.text = element.text, None
    while element[0] is not end:
        question.append(element[0])
    element.insert(0, question)
    if end.tag == _LINE_BREAK:
        end.tag, end.text, end.tail = "p", end.tail, None
        end.extend(list(end.itersiblings()))
    if element.tag == "p":
        element.tag = "div"


def _text_before_block(element: lxml.html.HtmlElement) -> tuple[str, lxml.html.HtmlElement | None]:
    """Return the text that an element begins with, and the block or line break behind it."""
    parts, count = [element.text or ""], 0
    for child in element:
        if child.tag == _LINE_BREAK or child.tag in _BLOCKS:
            return " ".join("".join(parts).split()), child
        parts += [_text(child), child.tail or ""]
        count += len(parts[-2]) + len(parts[-1])
        if count > 2 * _MAX_CHARACTERS:
            break
    return "", None


def _has_answer(element: lxml.html.HtmlElement) -> bool:
    """Return whether an element is a question or the button of an accordion, and the next one is its answer."""
    is_title = _is_question(text := _text(element)) or (_is_of_accordion(element) and 0 < len(text) <= _MAX_CHARACTERS)
    if not is_title or next(element.iterdescendants(*_BLOCKS), None) is not None:
        return False
    answer = _next_block(element)
    return answer is not None and bool(text := _text(answer)) and not _is_question(text)


def _is_of_accordion(element: lxml.html.HtmlElement) -> bool:
    return element.tag == "summary" or (
        element.tag == "button" and any(name in (element.get("class") or "").lower() for name in _ACCORDIONS)
    )


def _next_block(element: lxml.html.HtmlElement) -> lxml.html.HtmlElement | None:
    """Return the element behind another one, or behind the elements that hold nothing else."""
    for _ in range(_MAX_PARENTS + 1):
        parent, following = element.getparent(), element.getnext()
        if parent is None or (element.tail or "").strip():
            return None
        if following is not None:
            while following is not None and not _text(following) and not (following.tail or "").strip():
                following = following.getnext()
            return following if following is not None and following.tag not in _EMPHASIS else None
        if (parent.text or "").strip() or _text(parent) != _text(element):
            return None
        element = parent
    return None


def _open_list(element: lxml.html.HtmlElement | None) -> None:
    """Make blocks of the items of a list that begins with a question, and of the list."""
    if element is not None and element.tag in ("li", "dl"):
        siblings = list(element.iterfind("dd")) if element.tag == "dl" else [element.getparent()]
        for part in (element, *siblings):
            if part is not None and part.tag in _BLOCKS:
                part.tag = "div"


def _kind(element: lxml.html.HtmlElement) -> tuple[str, ...]:
    parent = element.getparent()
    return (
        element.tag,
        element.get("class", ""),
        *((parent.tag, parent.get("class", "")) if parent is not None else ()),
    )


def _is_question(text: str) -> bool:
    return len(text) <= _MAX_CHARACTERS and text.endswith(_QUESTION_MARKS)


def _text(element: lxml.html.HtmlElement) -> str:
    """Return the beginning of an element's text, longer than any question if there is more."""
    return " ".join("".join(_first_texts(element)).split())


def _first_texts(element: lxml.html.HtmlElement) -> Iterator[str]:
    count = 0
    for text in element.itertext():
        yield text
        count += len(text)
        if count > 4 * _MAX_CHARACTERS:
            return
