"""Subtitles in VTT and SRT files."""

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
