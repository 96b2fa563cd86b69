"""Subtitles in VTT, SRT and TTML files."""

import pytest

from rag.errors import ParseFailed
from rag.parsing import formats
from rag.parsing.readers import subtitles
from rag.parsing.sandbox.limits import Limits
from tests.parsing.conftest import Read
from tests.support.checks.growth import takes_linear_time


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


_SCRIPT = (
    "[Script Info]\nTitle: Talk about bees\n\n[V4+ Styles]\nFormat: Name, Fontname\nStyle: Default,Arial\n\n[Events]\n"
    "Format: Layer, Start, End, Style, Name, Effect, Text\n"
    "Dialogue: 0,0:00:01.00,0:00:03.00,Default,Ada,,{\\i1}Hello{\\i0}, and\\Nwelcome.\n"
    "Comment: 0,0:00:01.00,0:00:03.00,Default,,,not shown\n"
    "Dialogue: 0,0:00:03.00,0:00:05.00,Default,Ben,,Thanks, Ada.\n"
)


def test_subtitles_of_aegisub_are_a_transcript(read: Read) -> None:
    parsed = read(_SCRIPT.encode(), "a.ass")
    assert parsed.text == "Ada: Hello, and welcome.\n\nBen: Thanks, Ada."
    assert (parsed.title, parsed.media_type) == ("Talk about bees", formats.SSA)


def test_subtitles_of_youtube_are_a_transcript(read: Read) -> None:
    cues = "0:00:00.599,0:00:04.160\nHello and welcome\n\n0:00:04.160,0:00:06.770\nto the show.\n"
    parsed = read(cues.encode(), "a.sbv")
    assert (parsed.text, parsed.media_type) == ("Hello and welcome to the show.", formats.SBV)
    assert read(b"Bees hum.", "a.sbv").text == "Bees hum."


@pytest.mark.parametrize("unit", ["Title: ", "Dialogue: ,", "{\\", "\\N", "0:00:00.599,"])
def test_subtitles_take_linear_time(unit: str) -> None:
    def build(length: int, seed: int) -> bytes:
        return f"[Script Info]\nFormat: Start, Text\nDialogue: {seed}, ".encode() + unit.encode() * (length // 8)

    limits = Limits(10, 10**9, 10**7)
    assert takes_linear_time(lambda content: subtitles.read_script(content, limits), build, 200_000)
    assert takes_linear_time(lambda content: subtitles.read(content, limits), build, 200_000)
