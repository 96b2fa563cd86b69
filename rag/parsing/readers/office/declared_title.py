"""The title that a file of Office 97 to 2003 declares, in the code page that it names."""

import io

import olefile

from rag.parsing.encodings import code_page_numbers
from rag.parsing.readers.extracted_markdown import clean_title
from rag.parsing.readers.messages.outlook import DAMAGES


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
    title = code_page_numbers.decode(metadata.title, code_page_numbers.find_codec(code_page))
    return clean_title(" ".join(title.split()))
