"""A document cannot be ingested."""

from .base import ErrorKind, RagError


class DocumentTooLarge(RagError):
    """A text or file exceeds a limit."""

    kind, code = ErrorKind.TOO_LARGE, "DOCUMENT_TOO_LARGE"


class UnsupportedFormat(RagError):
    """No parser reads files of this format, or the file is a picture and text recognition is not available."""

    kind, code = ErrorKind.UNSUPPORTED, "UNSUPPORTED_FORMAT"


class ParseFailed(RagError):
    """The file is damaged, encrypted or empty, or parsing took too much time or memory."""

    kind, code = ErrorKind.UNPROCESSABLE, "PARSE_ERROR"


class IndexFull(RagError):
    """The organisation's quota is used up. Nothing of the refused document is stored."""

    kind, code = ErrorKind.FULL, "INDEX_FULL"
