"""A small valid file of each format that its content shows."""

from rag.parsing import formats
from tests.parsing import files

GOOD = {
    formats.DOCX: files.docx(files.paragraph("Bees hum.")),
    formats.XLSX: files.xlsx({"S": [["Bees", "hum"]]}),
    formats.PPTX: files.pptx([("Bees", "hum")]),
    formats.EPUB: files.epub(["<p>Bees hum.</p>"]),
    formats.PDF: files.pdf(["Bees hum."]),
    formats.MSG: files.msg("Bees", "They hum.", "ada@example.com"),
    formats.EML: files.eml(text="Bees hum."),
    formats.HTML: b"<!DOCTYPE html><html><body><p>Bees hum.</p></body></html>",
    formats.ODT: files.open_document("text", "<text:p>Bees hum.</text:p>"),
    formats.ODP: files.open_document("presentation", files.odf_slide("Bees", "hum")),
    formats.RTF: b"{\\rtf1\\ansi Bees hum.\\par}",
    formats.VCF: b"BEGIN:VCARD\nFN:Bees\nEND:VCARD\n",
    formats.VTT: b"WEBVTT\n\n00:00.000 --> 00:02.000\nBees hum.\n",
}
