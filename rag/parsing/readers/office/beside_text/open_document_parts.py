"""Notes, text boxes and remarks of an OpenDocument text.

xberg puts the number of a note at the end of another paragraph, adds the remarks of reviewers to the notes, and writes
a box twice, in the line of its anchor.
"""

from lxml import etree

_OFFICE, _TEXT, _TABLE, _DRAW = (
    f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}" for name in ("office", "text", "table", "drawing")
)
# The remarks of reviewers, and how the signs of a word are read, which is printed above it.
_LEFT_OUT = (f"{_OFFICE}annotation", f"{_OFFICE}annotation-end", f"{_TEXT}ruby-text")
_SHAPES = ("custom-shape", "rect", "ellipse", "circle", "line", "path", "polygon")
_MAX_SPACES = 100


def place_parts(root: etree._Element) -> None:
    """Put notes at the end of their section and boxes behind their paragraph, write spaces, and remove remarks.

    Args:
        root: The part `content.xml`, which is changed.
    """
    for element in list(root.iter(*_LEFT_OUT)):
        _replace(element, "")
    for element in list(root.iter(f"{_TEXT}s")):
        count = element.get(f"{_TEXT}c", "1")
        _replace(element, " " * (min(int(count[:4]), _MAX_SPACES) if count.isdecimal() else 1))
    _place_notes(root)
    _move_boxes(root)


def _place_notes(root: etree._Element) -> None:
    pending = list[etree._Element]()
    count, text_body = 0, next(root.iter(f"{_OFFICE}text"), None)
    for element in list(root.iter(f"{_TEXT}h", f"{_TEXT}note")):
        if element.tag == f"{_TEXT}h":
            parent = element.getparent()
            if parent is not None and parent.tag in (f"{_OFFICE}text", f"{_TEXT}section"):
                for note in pending:
                    element.addprevious(note)
                pending = []
            continue
        body = element.find(f"{_TEXT}note-body")
        text = "" if body is None else " ".join(" ".join("".join(map(str, part.itertext())) for part in body).split())
        count += bool(text)
        _replace(element, f"[^{count}]" if text else "")
        if text:
            note = etree.Element(f"{_TEXT}p")
            note.text = f"[^{count}]: {text}"
            pending.append(note)
    if text_body is not None:
        text_body.extend(pending)


def _move_boxes(root: etree._Element) -> None:
    ends: dict[etree._Element, etree._Element] = {}  # the last element that was put behind a paragraph
    for box in list(root.iter(f"{_DRAW}text-box", *(f"{_DRAW}{shape}" for shape in _SHAPES))):
        anchor = next(box.iterancestors(f"{_TEXT}p", f"{_TEXT}h"), None)
        if anchor is None or not len(box):
            continue
        last = ends.get(anchor, anchor)
        for child in [child for child in box if child.tag.startswith((_TEXT, _TABLE))]:
            child.tail = None
            last.addnext(child)
            last = ends[anchor] = child
    for frame in list(root.iter(f"{_DRAW}frame")):
        if frame.find(f"{_DRAW}text-box") is not None and frame.getparent().tag.startswith(_TEXT):
            _replace(frame, "")


def _replace(element: etree._Element, text: str) -> None:
    """Put a text in the place of an element."""
    parent, previous = element.getparent(), element.getprevious()
    if parent is None:
        return
    text += element.tail or ""
    if previous is not None:
        previous.tail = (previous.tail or "") + text
    else:
        parent.text = (parent.text or "") + text
    parent.remove(element)
