"""Writes the labels of paragraphs into an OpenDocument text as text, because xberg counts lists in its own way."""

from collections.abc import Iterator, Mapping

from lxml import etree

from .labels import Label

_TABLE, _TEXT = (f"{{urn:oasis:names:tc:opendocument:xmlns:{name}:1.0}}" for name in ("table", "text"))
_HEADING, _PARAGRAPH, _LIST, _ITEM, _HEADER, _NUMBER, _NUMBERED = (
    f"{_TEXT}{name}" for name in ("h", "p", "list", "list-item", "list-header", "number", "numbered-paragraph")
)


def write_labels(root: etree._Element, labels: Mapping[etree._Element, Label]) -> None:
    """Change the lists of a document: only items of lists are left in them, others become plain paragraphs.

    Args:
        root: The part `content.xml`.
        labels: The labels of the paragraphs.
    """
    for number in list(root.iter(_NUMBER)):
        _remove(number)
    for element, label in labels.items():
        is_in_list = next(element.iterancestors(_LIST), None) is not None
        if label.text and (element.tag == _HEADING or not is_in_list):
            _write(element, f"{label.text} ")
    for numbered in list(root.iter(_NUMBERED)):
        _replace(numbered, list(numbered))
    for element in list(root.iter(_LIST)):
        if next(element.iterancestors(_LIST), None) is None:
            _replace(element, list(_flatten(element, labels)))


def _flatten(element: etree._Element, labels: Mapping[etree._Element, Label]) -> Iterator[etree._Element]:
    """Yield what is put in the place of a list: lists of items, and between them what is no item."""
    is_in_cell = next(element.iterancestors(f"{_TABLE}table-cell"), None) is not None
    lists: list[tuple[int, etree._Element]] = []  # the list of items, and those in its last item, with their levels
    for part in list(_parts(element)):
        label = labels.get(part)
        if part.tag == _PARAGRAPH and label and label.text:
            _write(part, f"{label.text} " if is_in_cell else label.as_prefix)
        if part.tag == _PARAGRAPH and label and label.is_item and not is_in_cell:
            while len(lists) > 1 and lists[-1][0] > label.level:
                lists.pop()
            if not lists:
                lists.append((label.level, etree.Element(_LIST)))
            elif lists[-1][0] < label.level:
                lists.append((label.level, etree.SubElement(lists[-1][1][-1], _LIST)))
            etree.SubElement(lists[-1][1], _ITEM).append(part)
            continue
        yield from (outermost for _, outermost in lists[:1])
        lists = []
        yield part
    yield from (outermost for _, outermost in lists[:1])


def _parts(element: etree._Element) -> Iterator[etree._Element]:
    """Yield the paragraphs, headings and tables of a list, also those of the lists in it."""
    for item in element:
        for child in item if item.tag in (_ITEM, _HEADER) else ():
            if child.tag == _LIST:
                yield from _parts(child)
            else:
                yield child


def _write(element: etree._Element, prefix: str) -> None:
    element.text = prefix + (element.text or "").lstrip()


def _replace(element: etree._Element, parts: list[etree._Element]) -> None:
    parent = element.getparent()
    if parent is None:
        return
    for part in parts:
        part.tail = None
        element.addprevious(part)
    parent.remove(element)


def _remove(element: etree._Element) -> None:
    parent, previous = element.getparent(), element.getprevious()
    if parent is None:
        return
    if previous is not None:
        previous.tail = (previous.tail or "") + (element.tail or "")
    else:
        parent.text = (parent.text or "") + (element.tail or "")
    parent.remove(element)
