"""Subtitles in VTT, SRT and TTML files."""

import pytest

from rag.errors import ParseFailed
from rag.parsing import formats
from tests.parsing.conftest import Read


def test_subtitles_are_a_transcript(read: Read) -> None:
    cues = (
        "WEBVTT\n\nNOTE nothing\n\n1\n00:00.000 --> 00:02.000\n<v Ada>Hello &amp; welcome\n\n"
        "00:02.000 --> 00:04.000 align:start\n<v Ada>to the <i>show</i>.\n\n00:04.000 --> 00:05.000\n<v Ben>Thanks.\n"
    )
    parsed = read(cues.encode(), "a.vtt")
    assert parsed.text == "Ada: Hello & welcome to the show.\n\nBen: Thanks."
    srt = "1\r\n00:00:00,000 --> 00:00:02,000\r\nHello\r\n\r\n2\r\n00:00:02,000 --> 00:00:03,000\r\n<i>world</i>.\r\n"
    assert read(srt.encode(), "a.srt").text == "Hello world."


_TTML = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!-- made by hand --><tt xml:lang="en" xmlns="http://www.w3.org/{0}" '
    'xmlns:ttm="http://www.w3.org/{0}#metadata"><head><metadata><ttm:title>The show</ttm:title>'
    '<ttm:agent xml:id="a" type="person"><ttm:name>Ada</ttm:name></ttm:agent></metadata></head><body><div>'
    '<p begin="0s" end="2s" ttm:agent="a"><metadata>loud</metadata>Hello &amp;\n    welcome<br/>to the '
    '<span tts:fontStyle="italic" xmlns:tts="{0}">show</span>.</p><p begin="2s" end="3s">Thanks.</p></div></body></tt>'
)


@pytest.mark.parametrize("namespace", ["ns/ttml", "2006/10/ttaf1"])
@pytest.mark.parametrize("name", ["a.ttml", "a.dfxp", "a.xml"])
def test_timed_text_is_a_transcript(read: Read, namespace: str, name: str) -> None:
    parsed = read(_TTML.format(namespace).encode(), name)
    assert parsed.text == "Ada: Hello & welcome to the show. Thanks."
    assert (parsed.title, parsed.media_type) == ("The show", formats.TTML)


def test_other_markup_is_no_timed_text(read: Read) -> None:
    assert "<tt>" in read(b"<tt>x</tt>", "a.xml").text
    assert read(b"Bees hum.", "a.ttml").text == "Bees hum."
    with pytest.raises(ParseFailed, match="damaged"):
        read(_TTML.format("ns/ttml").encode()[:-40], "a.ttml")
