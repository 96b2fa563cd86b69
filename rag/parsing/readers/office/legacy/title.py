"""The title that a file of Office 97 to 2003 declares, in the code page that it names.

It is in a property set (MS-OLEPS), which is read here: olefile drops the NUL bytes of UTF-16.
"""

import io
import struct

import olefile

from rag.parsing.encodings import code_page_numbers
from rag.parsing.readers.extracted_markdown import clean_title
from rag.parsing.readers.messages.outlook import DAMAGES

_STREAM = "\x05SummaryInformation"
# Where the offset of the section is, the properties of the code page and of the title, and the types of their values.
_OFFSET_PLACE, _CODE_PAGE, _TITLE = 44, 1, 2
_NUMBER, _BYTES, _CHARACTERS = 0x02, 0x1E, 0x1F
_UTF_16 = 1200
_MAX_PROPERTIES = 1_000


def read_title(content: bytes) -> str:
    """Return the title, or an empty text. xberg takes each title for UTF-8, and reads none of workbooks."""
    try:
        with olefile.OleFileIO(io.BytesIO(content)) as file:
            title = _find_title(file.openstream(_STREAM).read()) if file.exists(_STREAM) else ""
    except DAMAGES:
        return ""
    return clean_title(" ".join(title.split()))


def _find_title(properties: bytes) -> str:
    (start,) = struct.unpack_from("<I", properties, _OFFSET_PLACE)
    section = properties[start:]
    count = min(struct.unpack_from("<I", section, 4)[0], _MAX_PROPERTIES)
    places: dict[int, int] = dict(struct.unpack_from("<II", section, 8 + 8 * number) for number in range(count))
    if _TITLE not in places:
        return ""
    title_type, length = struct.unpack_from("<II", section, places[_TITLE])
    code_page = 0
    if _CODE_PAGE in places:
        code_page_type, number = struct.unpack_from("<IH", section, places[_CODE_PAGE])
        code_page = number if code_page_type == _NUMBER else 0
    value = section[places[_TITLE] + 8 :]
    if title_type == _CHARACTERS:
        return _decode_utf_16(value[: 2 * length])
    if title_type != _BYTES or not code_page:
        return ""
    if code_page == _UTF_16:
        return _decode_utf_16(value[:length])
    return code_page_numbers.decode(value[:length], code_page_numbers.find_codec(code_page))


def _decode_utf_16(value: bytes) -> str:
    return value.decode("utf-16-le", "replace").partition("\0")[0]
