"""Formats: MIME types, file suffixes and names for messages.

A new format is named here (its type, its suffixes, and BINARY or CONVERTED), detected in `detection.py` by its first
bytes or in `container_formats.py` and `zip_files.py` by the content of its container, and read by a function that
`readers/registry.py` lists.
"""

from pathlib import PurePosixPath

PLAIN = "text/plain"
RESTRUCTURED_TEXT = "text/x-rst"
MARKDOWN = "text/markdown"
ASCIIDOC = "text/asciidoc"
ORG = "text/org"
TEX = "text/x-tex"
HTML = "text/html"
CSV = "text/csv"
TSV = "text/tab-separated-values"
JSON = "application/json"
JSON_LINES = "application/x-ndjson"
NOTEBOOK = "application/x-ipynb+json"
VTT = "text/vtt"
SRT = "application/x-subrip"
TTML = "application/ttml+xml"
SSA = "text/x-ssa"
SBV = "text/x-sbv"
EML = "message/rfc822"
PDF = "application/pdf"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
PPTX = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
XLSB = "application/vnd.ms-excel.sheet.binary.macroenabled.12"
EPUB = "application/epub+zip"
ODT = "application/vnd.oasis.opendocument.text"
ODS = "application/vnd.oasis.opendocument.spreadsheet"
ODP = "application/vnd.oasis.opendocument.presentation"
RTF = "application/rtf"
DOC = "application/msword"
XLS = "application/vnd.ms-excel"
PPT = "application/vnd.ms-powerpoint"
MSG = "application/vnd.ms-outlook"
MBOX = "application/mbox"
FB2 = "application/x-fictionbook+xml"
ICS = "text/calendar"
VCF = "text/vcard"
PNG = "image/png"
JPEG = "image/jpeg"
TIFF = "image/tiff"
WEBP = "image/webp"

# Containers: their first bytes do not show what they contain.
ZIP = "application/zip"
OLE = "application/x-ole-storage"

OPEN_DOCUMENT = frozenset({ODT, ODS, ODP})
# Texts for the web, and those that consist of other texts; with the hyphens of their types.
OPEN_TEXT_VARIANTS = ("web", "master")
ZIPPED = frozenset({DOCX, XLSX, XLSB, PPTX, EPUB}) | OPEN_DOCUMENT
IN_OLE = frozenset({MSG, DOC, XLS, PPT})
# Their text is read by text recognition (OCR).
PICTURES = frozenset({PNG, JPEG, TIFF, WEBP})
BINARY = ZIPPED | IN_OLE | PICTURES | {PDF, RTF}
CONTAINERS = frozenset({ZIP, OLE})
# Texts that show their structure by lines and indentation, unlike source code.
PLAIN_TEXTS = frozenset({PLAIN, RESTRUCTURED_TEXT})
# Text formats that are converted; other texts are kept unchanged.
CONVERTED = frozenset({HTML, CSV, TSV, JSON, JSON_LINES, NOTEBOOK, VTT, SRT, TTML, SSA, SBV, EML, MBOX, FB2, ICS, VCF})

# Names for messages.
DISPLAY_NAMES = {
    PDF: "PDF",
    DOCX: "Word document",
    XLSX: "Excel workbook",
    XLSB: "Excel workbook",
    PPTX: "PowerPoint presentation",
    EPUB: "EPUB book",
    ODT: "OpenDocument text",
    ODS: "OpenDocument spreadsheet",
    ODP: "OpenDocument presentation",
    RTF: "rich text file",
    DOC: "Word document",
    XLS: "Excel workbook",
    PPT: "PowerPoint presentation",
    FB2: "FictionBook",
    MSG: "Outlook message",
    MBOX: "mailbox",
    EML: "e-mail",
    HTML: "web page",
    NOTEBOOK: "notebook",
    TTML: "file of subtitles",
    **dict.fromkeys(PICTURES, "picture"),
}

# Other names of the same types.
_ALIASES = {
    "text/x-markdown": MARKDOWN,
    "application/xhtml+xml": HTML,
    "application/csv": CSV,
    "text/json": JSON,
    "application/x-pdf": PDF,
    "text/srt": SRT,
    "application/srt": SRT,
    "text/x-subrip": SRT,
    "application/ttaf+xml": TTML,
    "application/vnd.jupyter": NOTEBOOK,
    "application/x-zip-compressed": ZIP,
    "application/x-msg": MSG,
    "application/ics": ICS,
    "text/rtf": RTF,
    "application/x-rtf": RTF,
    "text/x-vcard": VCF,
    "text/directory": VCF,
    "application/fictionbook2+xml": FB2,
    **{f"{kind}-template": kind for kind in OPEN_DOCUMENT},
    **{f"{ODT}-{variant}": ODT for variant in OPEN_TEXT_VARIANTS},
}

_SUFFIXES = {
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".mdx": MARKDOWN,
    ".rmd": MARKDOWN,
    ".qmd": MARKDOWN,
    ".txt": PLAIN,
    ".text": PLAIN,
    ".log": PLAIN,
    ".rst": "text/x-rst",
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": HTML,
    ".csv": CSV,
    ".tsv": TSV,
    ".json": JSON,
    ".ndjson": JSON_LINES,
    ".jsonl": JSON_LINES,
    ".ipynb": NOTEBOOK,
    ".vtt": VTT,
    ".srt": SRT,
    ".ass": SSA,
    ".ssa": SSA,
    ".sbv": SBV,
    ".ttml": TTML,
    ".dfxp": TTML,
    ".eml": EML,
    ".emlx": EML,
    ".mht": EML,
    ".mhtml": EML,
    ".msg": MSG,
    ".mbox": MBOX,
    ".ics": ICS,
    ".vcf": VCF,
    ".fb2": FB2,
    ".rtf": RTF,
    ".doc": DOC,
    ".dot": DOC,
    ".xls": XLS,
    ".xlt": XLS,
    ".ppt": PPT,
    ".pps": PPT,
    ".pot": PPT,
    ".odt": ODT,
    ".ott": ODT,
    ".fodt": ODT,
    ".oth": ODT,
    ".odm": ODT,
    ".ods": ODS,
    ".ots": ODS,
    ".fods": ODS,
    ".odp": ODP,
    ".otp": ODP,
    ".fodp": ODP,
    ".pdf": PDF,
    ".docx": DOCX,
    ".docm": DOCX,
    ".dotx": DOCX,
    ".xlsx": XLSX,
    ".xlsm": XLSX,
    ".xltx": XLSX,
    ".xlsb": XLSB,
    ".pptx": PPTX,
    ".pptm": PPTX,
    ".ppsx": PPTX,
    ".potx": PPTX,
    ".epub": EPUB,
    ".png": PNG,
    ".jpg": JPEG,
    ".jpeg": JPEG,
    ".tif": TIFF,
    ".tiff": TIFF,
    ".webp": WEBP,
    ".xml": "application/xml",
    ".svg": "image/svg+xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
    ".toml": "application/toml",
    ".ini": PLAIN,
    ".tex": TEX,
    ".latex": TEX,
    ".adoc": ASCIIDOC,
    ".asciidoc": ASCIIDOC,
    ".org": ORG,
    ".c": "text/x-c",
    ".h": "text/x-c",
    ".cc": "text/x-c++",
    ".cpp": "text/x-c++",
    ".hpp": "text/x-c++",
    ".cs": "text/x-csharp",
    ".css": "text/css",
    ".go": "text/x-go",
    ".java": "text/x-java",
    ".js": "text/javascript",
    ".jsx": "text/javascript",
    ".kt": "text/x-kotlin",
    ".lua": "text/x-lua",
    ".php": "text/x-php",
    ".pl": "text/x-perl",
    ".ps1": "text/x-powershell",
    ".py": "text/x-python",
    ".r": "text/x-r",
    ".rb": "text/x-ruby",
    ".rs": "text/x-rust",
    ".scala": "text/x-scala",
    ".sh": "text/x-shellscript",
    ".sql": "text/x-sql",
    ".swift": "text/x-swift",
    ".ts": "text/x-typescript",
    ".tsx": "text/x-typescript",
}

# Types that clients send for a file of unknown type. The name decides instead.
_UNSPECIFIED = {"", "application/octet-stream", "binary/octet-stream", "application/unknown"}
# Types other than text/* that contain text.
_TEXT_TYPES = {
    JSON,
    NOTEBOOK,
    SRT,
    TTML,
    EML,
    MBOX,
    FB2,
    "application/xml",
    "image/svg+xml",
    JSON_LINES,
    "application/yaml",
    "application/toml",
}
# Declared types that say what a file is, whatever its name is.
_KNOWN_TYPES = (_TEXT_TYPES | BINARY | CONTAINERS | CONVERTED | {*_SUFFIXES.values()}) - {PLAIN}


def declared_type(content_type: str) -> str:
    """Return what a client has declared; empty if that says nothing, as application/octet-stream does."""
    return "" if content_type.split(";")[0].strip().lower() in _UNSPECIFIED else content_type


def normalize_mime_type(content_type: str) -> str:
    """Return a declared content type without parameters and aliases; empty if it is unspecified or not a MIME type."""
    declared = content_type.split(";")[0].strip().lower()
    if "/" not in declared or declared in _UNSPECIFIED:
        return ""
    return _ALIASES.get(declared, declared)


def file_suffix(name: str) -> str:
    """Return the suffix of a file name or URL in lower case, with its dot."""
    return PurePosixPath(name.split("?")[0].split("#")[0]).suffix.lower()


def type_from_name(name: str) -> str:
    """Return the MIME type that belongs to the suffix of a file name; empty if it is unknown."""
    return _SUFFIXES.get(file_suffix(name), "")


def claimed_type(content_type: str, name: str) -> str:
    """Return the type that the client claims: the declared one.

    If that is missing, text/plain or unknown, the name decides. Clients look types up by suffix in lists where other
    formats have the same: `.rst` is text/prs.fallenstein.rst there, and `.org` application/vnd.lotus-organizer.
    """
    declared = normalize_mime_type(content_type)
    return declared if declared in _KNOWN_TYPES else type_from_name(name) or declared


def is_text(media_type: str) -> bool:
    """Return whether files of this type are text."""
    return media_type.startswith("text/") or media_type in _TEXT_TYPES


def display_name(media_type: str) -> str:
    """Return the format's name for messages, such as "Word document"."""
    return DISPLAY_NAMES.get(media_type, "file")
