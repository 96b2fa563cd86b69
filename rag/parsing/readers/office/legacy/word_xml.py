"""Word documents that were saved as XML by Word 2003, or that programs fill in this form (WordprocessingML 2003).

Their elements are those of later documents under another name space, apart from lists, notes, changes and properties.
"""

import io
import zipfile

from lxml import etree

_OLD = "http://schemas.microsoft.com/office/word/2003/wordml"
_NEW = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_WORD, _PREFIX = f"{{{_NEW}}}", {"w": _NEW}  # xberg goes by this prefix
_ANNOTATION, _OFFICE, _DRAWING = (
    "{http://schemas.microsoft.com/aml/2001/core}",
    "{urn:schemas-microsoft-com:office:office}",
    "{urn:schemas-microsoft-com:vml}",
)
ROOT = f"{{{_OLD}}}wordDocument"
_RENAMED = {"listPr": "numPr", "ilfo": "numId", "hlink": "hyperlink", "listDef": "abstractNum", "list": "num"}
_RENAMED |= {"ilst": "abstractNumId", "nfc": "numFmt", "lists": "numbering"}
# The attributes that identify lists.
_IDS = {"listDef": ("listDefId", "abstractNumId"), "list": ("ilfo", "numId")}
# How numbers are written, by their code.
_NUMBERS = {
    **{"0": "decimal", "1": "upperRoman", "2": "lowerRoman", "3": "upperLetter", "4": "lowerLetter", "5": "ordinal"},
    **{"6": "cardinalText", "7": "ordinalText", "22": "decimalZero", "23": "bullet", "255": "none"},
}
# What a change of a document is called; other annotations are bookmarks and remarks.
_CHANGES = {"Word.Insertion": "ins", "Word.Deletion": "del"}
_REFERENCES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml"
_PARTS = ("styles", "numbering", "footnotes", "endnotes")
_TYPES = (
    f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-'
    f'package.relationships+xml"/><Override PartName="/word/document.xml" ContentType="{_TYPE}.document.main+xml"/>'
    + "".join(f'<Override PartName="/word/{part}.xml" ContentType="{_TYPE}.{part}+xml"/>' for part in _PARTS)
    + "</Types>"
)
_TITLE = '<coreProperties xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns="{}/metadata/core-properties"/>'


def as_container(root: etree._Element) -> bytes:
    """Return a document as a container with the parts of a later one.

    Args:
        root: The document, as one XML file.
    """
    written = etree.tostring(root, encoding="utf-8").replace(_OLD.encode(), _NEW.encode())
    root = etree.fromstring(written, etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False))
    title = root.findtext(f"{_OFFICE}DocumentProperties/{_OFFICE}Title") or ""
    _dissolve(root)
    _rename(root)
    core = etree.fromstring(_TITLE.format(_PACKAGE))
    etree.SubElement(core, "{http://purl.org/dc/elements/1.1/}title").text = title
    notes = {f"word/{kind}s.xml": _take_notes(root, kind) for kind in ("footnote", "endnote")}
    document = _part("document")
    document.append(_find(root, "body"))
    parts = {f"word/{name}.xml": _find(root, name) for name in ("styles", "numbering")}
    parts |= {"docProps/core.xml": core, "word/document.xml": document, **notes}
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr("_rels/.rels", _relations(("officeDocument", "word/document.xml")))
        archive.writestr("word/_rels/document.xml.rels", _relations(*((part, f"{part}.xml") for part in _PARTS)))
        for name, part in parts.items():
            archive.writestr(name, etree.tostring(part, encoding="utf-8", xml_declaration=True))
    return buffer.getvalue()


def _relations(*targets: tuple[str, str]) -> str:
    listed = "".join(
        f'<Relationship Id="rId{number}" Type="{_REFERENCES}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{listed}</Relationships>'


def _part(name: str) -> etree._Element:
    return etree.Element(f"{_WORD}{name}", nsmap=_PREFIX)


def _find(root: etree._Element, name: str) -> etree._Element:
    """Return a part of the document; an empty one if it has none."""
    part = root.find(f"{_WORD}{name}")
    return _part(name) if part is None else part


def _dissolve(root: etree._Element) -> None:
    """Leave out remarks, and the elements around others: those of sections, of changes, and of other name spaces."""
    for element in list(root.iter(etree.Element)):
        tag, parent = str(element.tag), element.getparent()
        if parent is None or tag.startswith((_WORD, _DRAWING)):
            continue
        if tag == f"{_ANNOTATION}annotation":
            change = _CHANGES.get(element.get(f"{_WORD}type", ""))
            if change is None:
                parent.remove(element)
            else:
                element.tag = f"{_WORD}{change}"
            continue
        for child in list(element):
            element.addprevious(child)
        parent.remove(element)


def _rename(root: etree._Element) -> None:
    for element in root.iter(f"{_WORD}*"):
        name = str(element.tag).removeprefix(_WORD)
        element.tag = f"{_WORD}{_RENAMED.get(name, name)}"
        if name in _IDS:
            old, new = _IDS[name]
            element.set(f"{_WORD}{new}", element.get(f"{_WORD}{old}", ""))
        elif name == "nfc":
            element.set(f"{_WORD}val", _NUMBERS.get(element.get(f"{_WORD}val", ""), "decimal"))


def _take_notes(root: etree._Element, kind: str) -> etree._Element:
    """Return the part of the notes, which are replaced by references to them."""
    part = _part(f"{kind}s")
    for number, note in enumerate(list(root.iter(f"{_WORD}{kind}")), 1):
        note.addprevious(etree.Element(f"{_WORD}{kind}Reference", {f"{_WORD}id": str(number)}))
        note.set(f"{_WORD}id", str(number))
        part.append(note)
    return part
