"""OpenDocument files, in a container and flat."""

from .archives import packed

_NAMES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in [
        ("office", "office"),
        ("text", "text"),
        ("table", "table"),
        ("draw", "drawing"),
        ("presentation", "presentation"),
        ("svg", "svg-compatible"),
        ("meta", "meta"),
        ("style", "style"),
        ("fo", "xsl-fo-compatible"),
    ]
)
_MEDIA_TYPE = "application/vnd.oasis.opendocument."


def open_document(
    kind: str,
    body: str,
    *,
    title: str = "",
    doctype: str = "",
    template: bool = False,
    variant: str = "",
    styles: str = "",
) -> bytes:
    """A document of the kind "text", "spreadsheet" or "presentation" with this XML in its body, and in its styles."""
    media_type = _MEDIA_TYPE + kind + ("-template" if template else "") + variant
    entry = '<manifest:file-entry manifest:full-path="{}" manifest:media-type="{}"/>'
    return packed(
        {
            "mimetype": media_type,
            "content.xml": f'<?xml version="1.0"?>{doctype}<office:document-content {_NAMES}>'
            f"<office:automatic-styles>{styles}</office:automatic-styles><office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>",
            "meta.xml": f'<?xml version="1.0"?><office:document-meta {_NAMES}>{_meta(title)}</office:document-meta>',
            "META-INF/manifest.xml": '<?xml version="1.0"?><manifest:manifest '
            'xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0">'
            f"{entry.format('/', media_type)}{entry.format('content.xml', 'text/xml')}</manifest:manifest>",
        }
    )


def flat_open_document(kind: str, body: str, *, title: str = "") -> bytes:
    """The document of `open_document`, as one XML file."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<office:document {_NAMES} office:version="1.3" '
        f'office:mimetype="{_MEDIA_TYPE}{kind}">{_meta(title)}<office:body><office:{kind}>{body}</office:{kind}>'
        "</office:body></office:document>"
    ).encode()


def _meta(title: str) -> str:
    return f'<office:meta><dc:title xmlns:dc="http://purl.org/dc/elements/1.1/">{title}</dc:title></office:meta>'


def odf_slide(title: str, text: str, *, notes: str = "") -> str:
    """A slide of a presentation."""
    return (
        f'<draw:page draw:name="page">{_frame("title", title)}{_frame("outline", text)}<presentation:notes>'
        f"{_frame('notes', notes)}</presentation:notes></draw:page>"
    )


def _frame(place: str, text: str) -> str:
    return (
        f'<draw:frame presentation:class="{place}"><draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame>'
    )
