"""Boxes, notes, charts, diagrams, remarks and changes in Word and OpenDocument texts."""

import io
import zipfile

import pytest

from tests.parsing.conftest import Read
from tests.parsing.files.archives import packed
from tests.parsing.files.office import CHART, DRAWING, REFERENCE, WORD, docx, paragraph, relations
from tests.parsing.files.open_document import open_document

_NAMES = (
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    f'xmlns:a="{DRAWING}" xmlns:c="{CHART}" xmlns:r="{REFERENCE}" '
    'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram"'
)


def _run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def _box(*paragraphs: str) -> str:
    return f"<w:txbxContent>{''.join(paragraphs)}</w:txbxContent>"


def _new_box(content: str) -> str:
    return (
        "<w:drawing><wp:anchor><a:graphic><a:graphicData><wps:wsp><wps:txbx>"
        f"{content}</wps:txbx></wps:wsp></a:graphicData></a:graphic></wp:anchor></w:drawing>"
    )


def _old_box(content: str) -> str:
    return f"<w:pict><v:shape><v:textbox>{content}</v:textbox></v:shape></w:pict>"


def _forms(*choices: str, fallback: str) -> str:
    chosen = "".join(f'<mc:Choice Requires="x">{choice}</mc:Choice>' for choice in choices)
    return f"<mc:AlternateContent>{chosen}<mc:Fallback>{fallback}</mc:Fallback></mc:AlternateContent>"


_TWO = _box(paragraph("Call 112."), paragraph("Then wait."))


@pytest.mark.parametrize(
    "box",
    [
        _old_box(_TWO),
        _new_box(_TWO),
        _forms(_new_box(_TWO), fallback=_old_box(_TWO)),
        _forms(_new_box(_TWO), _new_box(_TWO), fallback=_old_box(_TWO)),
        _forms("<w:drawing/>", fallback=_old_box(_TWO)),
        _old_box(_box(f"<w:p>{_run('Call 112.')}<w:r>{_old_box(_box(paragraph('Then wait.')))}</w:r></w:p>")),
        _old_box(_box(f"<w:p><w:r>{_old_box(_box(paragraph('Call 112.')))}</w:r></w:p>", paragraph("Then wait."))),
    ],
    ids=["VML", "DrawingML", "both", "three forms", "only old form", "box in a box", "box in the first paragraph"],
)
def test_boxes_are_read_once_behind_their_paragraph(read: Read, box: str) -> None:
    body = f"{paragraph('Fire', heading=True)}<w:p {_NAMES}>{_run('Leave the house.')}<w:r>{box}</w:r></w:p>"
    content = docx(body + paragraph("The end."))
    assert read(content, "a.docx").text == "# Fire\n\nLeave the house.\n\nCall 112.\n\nThen wait.\n\nThe end."


def test_several_boxes_of_a_paragraph_keep_their_order(read: Read) -> None:
    boxes = "".join(f"<w:r>{_old_box(_box(paragraph(text)))}</w:r>" for text in ("one", "two"))
    assert read(docx(f"<w:p {_NAMES}>{_run('Boxes')}{boxes}</w:p>"), "a.docx").text == "Boxes\n\none\n\ntwo"


def test_charts_and_diagrams_of_word_are_read(read: Read) -> None:
    series = (
        "<c:ser><c:tx><c:v>kg</c:v></c:tx><c:cat><c:pt><c:v>2020</c:v></c:pt></c:cat>"
        "<c:val><c:pt><c:v>31</c:v></c:pt></c:val></c:ser>"
    )
    chart = f"<c:chartSpace {_NAMES}><c:title><a:p><a:r><a:t>Honey</a:t></a:r></a:p></c:title>{series}</c:chartSpace>"
    texts = "".join(f"<dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t>" for text in ("Chair", "Board"))
    graphics = (
        '<w:r><w:drawing><c:chart r:id="rId2"/></w:drawing><w:drawing><dgm:relIds r:dm="rId3"/></w:drawing></w:r>'
    )
    broken = '<w:r><w:drawing><c:chart r:id="rId9"/></w:drawing></w:r>'
    parts = relations(("styles", "styles.xml"), ("chart", "charts/chart1.xml"), ("diagramData", "/word/data1.xml"))
    members: dict[str, str | bytes] = {
        "word/charts/chart1.xml": chart,
        "word/data1.xml": f"<dgm:dataModel {_NAMES}>{texts}</dgm:dataModel>",
        "word/_rels/document.xml.rels": parts,
    }
    content = docx(f"<w:p {_NAMES}>{_run('Bees')}{graphics}{broken}</w:p>", members=members)
    assert read(content, "a.docx").text == (
        "Bees\n\nHoney\n\n|  | 2020 |\n| --- | --- |\n| kg | 31 |\n\nChair\n\nBoard"
    )


def _note(kind: str, number: int, text: str) -> str:
    return f'<w:{kind} w:id="{number}"><w:p><w:r><w:{kind}Ref/></w:r>{_run(" " + text)}</w:p></w:{kind}>'


def _reference(kind: str, number: int) -> str:
    return f'<w:r><w:{kind}Reference w:id="{number}"/></w:r>'


def test_notes_of_word_are_at_the_end_of_their_section_and_remarks_are_left_out(read: Read) -> None:
    remark = '<w:comments xmlns:w="{}"><w:comment w:id="0">{}</w:comment></w:comments>'
    members: dict[str, str | bytes] = {
        f"word/{kind}s.xml": f'<w:{kind}s xmlns:w="{WORD}"><w:{kind} w:id="0"><w:p/></w:{kind}>{notes}</w:{kind}s>'
        for kind, notes in [
            ("footnote", _note("footnote", 2, "Of the *club*.") + _note("footnote", 3, "In May.")),
            ("endnote", _note("endnote", 2, "See the law.")),
        ]
    }
    members["word/comments.xml"] = remark.format(WORD, paragraph("Is this right?"))
    members["word/_rels/document.xml.rels"] = relations(
        *(("styles", "styles.xml"), ("footnotes", "footnotes.xml"), ("endnotes", "endnotes.xml")),
        ("comments", "comments.xml"),
    )
    first = (
        f"<w:p>{_run('Members')}{_reference('footnote', 2)}{_run(' pay')}{_reference('endnote', 2)}{_run('.')}</w:p>"
    )
    second = f'<w:p>{_run("They vote.")}<w:r><w:commentReference w:id="0"/></w:r>{_reference("footnote", 3)}</w:p>'
    body = paragraph("Fees", heading=True) + first + paragraph("Votes", heading=True) + second
    assert read(docx(body, members=members), "a.docx").text == (
        "# Fees\n\nMembers[^1] pay[^2].\n\n[^1]: Of the *club*.\n\n[^2]: See the law.\n\n"
        "# Votes\n\nThey vote.[^3]\n\n[^3]: In May."
    )


def test_controls_and_changes_of_word(read: Read) -> None:
    control = f"<w:sdt><w:sdtContent>{_run('four')}</w:sdtContent></w:sdt>"
    changed = f"<w:del><w:r><w:delText>three </w:delText></w:r></w:del><w:ins>{_run(' years')}</w:ins>"
    block = f"<w:sdt><w:sdtContent>{paragraph('In May.')}</w:sdtContent></w:sdt>"
    assert read(docx(f"<w:p>{control}{changed}</w:p>{block}"), "a.docx").text == "four years\n\nIn May."


@pytest.mark.parametrize(
    "hidden",
    [_run("secret", '<w:rStyle w:val="Hidden"/>'), "<w:r><w:ruby><w:rt>" + _run("secret") + "</w:rt></w:ruby></w:r>"],
)
def test_hidden_styles_and_the_reading_of_signs_are_left_out(read: Read, hidden: str) -> None:
    styles = (
        f'<w:styles xmlns:w="{WORD}"><w:style w:type="character" w:styleId="Hidden"><w:rPr><w:vanish/></w:rPr>'
        "</w:style></w:styles>"
    )
    shown = _run("hum.", '<w:rStyle w:val="Hidden"/><w:vanish w:val="0"/>')
    body = f"<w:p>{_run('Bees ')}{hidden}{shown}</w:p>"
    assert read(docx(body, members={"word/styles.xml": styles}), "a.docx").text == "Bees hum."


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>", "☒ member"),
        ("<w:checkBox><w:default w:val='1'/></w:checkBox>", "☒ member"),
        ("<w:checkBox><w:default w:val='1'/><w:checked w:val='0'/></w:checkBox>", "☐ member"),
        (
            "<w:ddList><w:result w:val='1'/><w:listEntry w:val='no'/><w:listEntry w:val='board'/></w:ddList>",
            "board member",
        ),
        ("<w:ddList><w:listEntry w:val='no'/></w:ddList>", "no member"),
        ("<w:ddList><w:result w:val='99999'/></w:ddList>", "member"),
    ],
)
def test_fields_of_forms_are_read(read: Read, data: str, text: str) -> None:
    begin = f'<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{data}</w:ffData></w:fldChar></w:r>'
    instruction = '<w:r><w:instrText>FORM</w:instrText></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r>'
    assert read(docx(f"<w:p>{begin}{instruction}{_run(' member')}</w:p>"), "a.docx").text == text


def _open_box(*texts: str) -> str:
    paragraphs = "".join(f"<text:p>{text}</text:p>" for text in texts)
    return f"<draw:frame><draw:text-box>{paragraphs}</draw:text-box></draw:frame>"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            f"<text:p>Leave{_open_box('Call 112.', 'Wait.')}{_open_box('Run.')} now.</text:p><text:p>End.</text:p>",
            "Leave now.\n\nCall 112.\n\nWait.\n\nRun.\n\nEnd.",
        ),
        ("<text:p>Go<draw:rect><text:p>left</text:p></draw:rect> on.</text:p>", "Go on.\n\nleft"),
        (
            "<text:p>They pay<text:note><text:note-citation>i</text:note-citation><text:note-body>"
            "<text:p>In May.</text:p></text:note-body></text:note> fees.</text:p>"
            '<text:h text:outline-level="1">Votes</text:h><text:p>Two.</text:p>',
            "They pay[^1] fees.\n\n[^1]: In May.\n\n# Votes\n\nTwo.",
        ),
        ("<text:p>Bees <office:annotation><text:p>Sure?</text:p></office:annotation>hum.</text:p>", "Bees hum."),
        ('<text:p>Bees<text:s text:c="2"/>hum.</text:p>', "Bees hum."),
        (
            "<text:p><text:ruby><text:ruby-base>蜂</text:ruby-base><text:ruby-text>はち</text:ruby-text></text:ruby></text:p>",
            "蜂",
        ),
        (
            '<text:tracked-changes><text:changed-region text:id="c"><text:deletion><text:p>old</text:p></text:deletion>'
            '</text:changed-region></text:tracked-changes><text:p>Bees <text:change text:change-id="c"/>hum.</text:p>',
            "Bees hum.",
        ),
    ],
    ids=["boxes", "shape", "note", "remark", "spaces", "reading", "deleted"],
)
def test_parts_of_open_documents(read: Read, body: str, text: str) -> None:
    assert read(open_document("text", body), "a.odt").text == text


def test_sheets_in_an_open_document_are_tables_behind_their_paragraph(read: Read) -> None:
    frame = '<draw:frame><draw:object xlink:href="./Object 1" xmlns:xlink="http://www.w3.org/1999/xlink"/></draw:frame>'
    text = open_document("text", f"<text:p>Costs:{frame}</text:p><text:p>The end.</text:p>")
    remark = "<office:annotation><text:p>Is this right?</text:p></office:annotation>"
    rows = "".join(
        f"<table:table-row>{''.join(f'<table:table-cell><text:p>{cell}</text:p></table:table-cell>' for cell in row)}"
        '<table:table-cell table:number-columns-repeated="1000"/></table:table-row>'
        for row in (["Item", "Price"], [f"Hive</text:p>{remark}<text:p>", "120"], [])
    )
    sheet = open_document("spreadsheet", f"<table:table>{rows}</table:table>")
    with zipfile.ZipFile(io.BytesIO(text)) as archive, zipfile.ZipFile(io.BytesIO(sheet)) as part:
        members = {name: archive.read(name) for name in archive.namelist()}
        members["Object 1/content.xml"] = part.read("content.xml")
    expected = "Costs:\n\n| Item | Price |\n| --- | --- |\n| Hive | 120 |\n\nThe end."
    assert read(packed(members), "a.odt").text == expected
