"""Word documents with automatic numbers."""

from .office import WORD, docx, relations


def level(number: int, number_format: str, text: str, *, more: str = "") -> str:
    """A level of a list, from 0. `text`: its label, such as "%1."."""
    return (
        f'<w:lvl w:ilvl="{number}"><w:start w:val="1"/><w:numFmt w:val="{number_format}"/>{more}'
        f'<w:lvlText w:val="{text}"/></w:lvl>'
    )


def numbering(*definitions: str, numbers: str = "") -> str:
    """The part with the definitions of lists, given their levels. The lists 1, 2 and so on are of one each."""
    abstract = "".join(
        f'<w:abstractNum w:abstractNumId="{place}">{levels}</w:abstractNum>' for place, levels in enumerate(definitions)
    )
    lists = "".join(
        f'<w:num w:numId="{place + 1}"><w:abstractNumId w:val="{place}"/></w:num>' for place in range(len(definitions))
    )
    return f'<?xml version="1.0"?><w:numbering xmlns:w="{WORD}">{abstract}{lists}{numbers}</w:numbering>'


def item(text: str, list_number: int, list_level: int = 0) -> str:
    """A paragraph of a list."""
    return (
        f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{list_level}"/><w:numId w:val="{list_number}"/></w:numPr></w:pPr>'
        f"<w:r><w:t>{text}</w:t></w:r></w:p>"
    )


def docx_with_numbers(definitions: str, *paragraphs: str, styles: str = "", heading: str = "") -> bytes:
    """A document with these definitions of lists. `heading`: what the style of headings has."""
    return docx(
        "".join(paragraphs),
        members={
            "word/numbering.xml": definitions,
            "word/styles.xml": f'<?xml version="1.0"?><w:styles xmlns:w="{WORD}"><w:style w:type="paragraph" '
            f'w:styleId="Heading1"><w:name w:val="heading 1"/>{heading}</w:style>{styles}</w:styles>',
            "word/_rels/document.xml.rels": relations(("styles", "styles.xml"), ("numbering", "numbering.xml")),
        },
    )
