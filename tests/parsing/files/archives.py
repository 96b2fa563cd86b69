"""ZIP archives and EPUB books."""

import io
import zipfile
from collections.abc import Mapping, Sequence


def packed(members: Mapping[str, str | bytes]) -> bytes:
    """A ZIP archive of these members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def epub(chapters: Sequence[str], *, doctype: str = "<!DOCTYPE html>") -> bytes:
    """Chapters as the XHTML of their bodies."""
    numbers = range(1, len(chapters) + 1)
    items = "".join(f'<item id="c{n}" href="c{n}.xhtml" media-type="application/xhtml+xml"/>' for n in numbers)
    spine = "".join(f'<itemref idref="c{n}"/>' for n in numbers)
    return packed(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<?xml version="1.0"?><container version="1.0" '
            'xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="content.opf" '
            'media-type="application/oebps-package+xml"/></rootfiles></container>',
            "content.opf": '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0" '
            'unique-identifier="id"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">1'
            "</dc:identifier><dc:title>The small book</dc:title><dc:language>en</dc:language></metadata><manifest>"
            f"{items}</manifest><spine>{spine}</spine></package>",
            **{
                f"c{number}.xhtml": f'<?xml version="1.0"?>{doctype}<html xmlns="http://www.w3.org/1999/xhtml"><head>'
                f"<title>x</title></head><body>{chapter}</body></html>"
                for number, chapter in enumerate(chapters, 1)
            },
        }
    )
