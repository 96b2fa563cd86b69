"""The title that a file of Office 97 to 2003 declares, in the code page that it names."""

import io

import olefile

from rag.parsing import encodings
from rag.parsing.readers.extracted_markdown import clean_title
from rag.parsing.readers.messages.outlook import DAMAGES

_UTF_8 = 65001


def read_title(content: bytes) -> str:
    """Return the title, or an empty text. xberg takes each title for UTF-8, and reads none of workbooks."""
    try:
        with olefile.OleFileIO(io.BytesIO(content)) as file:
            metadata = file.get_metadata()
    except DAMAGES:
        return ""
    if not isinstance(metadata.title, bytes) or not isinstance(metadata.codepage, int):
        return ""
    code_page = metadata.codepage % 2**16  # stored as a signed number
    declared = "utf-8" if code_page == _UTF_8 else f"cp{code_page}"
    title = encodings.decode_text(metadata.title.rstrip(b"\0"), declared=declared)
    return clean_title(" ".join(title.split()))
