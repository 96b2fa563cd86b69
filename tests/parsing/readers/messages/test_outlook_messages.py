"""Messages of Outlook in code pages, of great depth and size, and with values that cannot be parsed."""

import time

import pytest

from rag.parsing.readers.messages import outlook
from tests.parsing import files
from tests.parsing.conftest import Read
from tests.parsing.files.mail import Tree
from tests.support.speed.deferred import mail

SENDER = "ada@example.com"
MESSAGE_CODE_PAGE, INTERNET_CODE_PAGE = 0x3FFD, 0x3FDE


@pytest.mark.parametrize(
    ("name", "code_pages", "expected"),
    [
        ("Plan Ø.pdf".encode("cp850"), {}, "Plan Ø.pdf"),
        (b"Plan \x9d.pdf", {MESSAGE_CODE_PAGE: 1252}, "Plan \ufffd.pdf"),
        (b"\x81\x8d\x90.pdf", {MESSAGE_CODE_PAGE: 1252}, "\ufffd\ufffd\ufffd.pdf"),
        (b"Pl\0an.pdf\0", {}, "Plan.pdf"),
        (b"Pl\0an.pdf\0", {MESSAGE_CODE_PAGE: 1252}, "Plan.pdf"),
        ("Pl\0an.pdf", {}, "Plan.pdf"),
        ("žluťoučký.doc".encode("cp1250"), {MESSAGE_CODE_PAGE: 1250}, "žluťoučký.doc"),
        ("счет.pdf".encode("cp1251"), {MESSAGE_CODE_PAGE: 1251, INTERNET_CODE_PAGE: 65001}, "счет.pdf"),
        ("счет.pdf".encode("koi8_r"), {INTERNET_CODE_PAGE: 20866}, "счет.pdf"),
        ("資料.pdf".encode("cp932"), {MESSAGE_CODE_PAGE: 1200, INTERNET_CODE_PAGE: 932}, "資料.pdf"),
        ("Größe.pdf".encode(), {}, "Größe.pdf"),
        ("Größe.pdf".encode("cp1252"), {MESSAGE_CODE_PAGE: 4711}, "Größe.pdf"),
    ],
)
def test_names_have_the_declared_code_page(
    read: Read, name: str | bytes, code_pages: dict[int, int], expected: str
) -> None:
    attached = [files.msg_file(name, b""), files.msg_file("b.txt", b"Below.")]
    parsed = read(files.msg("Plans", "See below.", SENDER, attached, code_pages=code_pages), "a.msg")
    assert f"See below.\n\nAttachments: {expected}, b.txt\n\n# b.txt\n\nBelow." in parsed.text


def test_an_inner_message_has_the_code_page_of_the_outer_one(read: Read) -> None:
    inner = files.msg_message("Level 1", "Inner.", SENDER, [files.msg_file("счет.txt".encode("cp1251"), b"Paid.")])
    parsed = read(files.msg("Plans", "Outer.", SENDER, [inner], code_pages={MESSAGE_CODE_PAGE: 1251}), "a.msg")
    assert parsed.text.endswith("# счет.txt\n\nPaid.")


def test_files_of_messages_within_each_other_are_read_up_to_a_depth(read: Read) -> None:
    content = files.msg("Level 9", "Text 9.", SENDER)
    for level in range(8, -1, -1):
        attached = [files.msg_file(f"level{level + 1}.msg", content), files.msg_file("b.txt", b"Below.")]
        content = files.msg(f"Level {level}", f"Text {level}.", SENDER, attached)
    text = read(content, "a.msg").text
    assert "Text 3." in text
    assert "level4.msg" in text
    assert "Text 4." not in text
    outer = files.msg(
        "Outer", "Text.", SENDER, [files.msg_message("Inner", "", SENDER, [files.msg_file("a", content)])]
    )
    assert "Text 2." not in read(outer, "a.msg").text


@pytest.mark.parametrize("to", ["(" * 10_000, '"' * 10_000, "[(" * 5_000])
def test_values_that_cannot_be_parsed_leave_the_message_readable(read: Read, to: str) -> None:
    inner = files.msg_message("Level 1", "Inner.", SENDER, [files.msg_file("b.txt", b"Below.")], to=to)
    text = read(files.msg("Plans", "Outer.", SENDER, [inner, files.msg_file("c.txt", b"Last.")]), "a.msg").text
    assert "Inner." in text
    assert "# b.txt\n\nBelow." in text
    assert text.endswith("# c.txt\n\nLast.")
    assert "The body." in read(f"From: a@x.example\nTo: {to}\nSubject: S\n\nThe body.".encode(), "a.eml").text


def test_senders_with_other_letters_than_ascii_are_read(read: Read) -> None:
    inner = files.msg_message("Level 1", "Inner.", "jörg@brücke.example", [files.msg_file("b.txt", b"Below.")])
    text = read(files.msg("Plans", "Outer.", SENDER, [inner]), "a.msg").text
    assert "From: jörg@brücke.example" in text
    assert text.endswith("# b.txt\n\nBelow.")


def test_long_values_are_cut_before_they_are_parsed() -> None:
    """10,000 quotation marks took 0.7 seconds."""
    inner = [files.msg_message("Level 1", "Inner.", SENDER, to='"' * 10_000) for _ in range(5)]
    content = files.msg("Plans", "Outer.", SENDER, inner)
    started = time.process_time()
    assert len(outlook.read_attachments(content, limit=100, depth=4)) == 5
    assert time.process_time() - started < 1


def test_only_the_names_of_attachments_beyond_the_limit_are_read() -> None:
    attachments: list[Tree] = [files.msg_file(f"{number}.txt", b"Text.") for number in range(5)]
    attachments.append(files.msg_message("Inner", "Text.", SENDER))
    parts = outlook.read_attachments(files.msg("Many", "", SENDER, attachments), limit=3, depth=4)
    assert [part.get_filename() for part in parts] == ["0.txt", "1.txt", "2.txt", "3.txt", "4.txt", None]
    assert [part.get_payload() for part in parts[3:]] == [None] * 3


def test_a_text_without_a_list_of_attachments_is_kept() -> None:
    assert mail.without_listed_attachments("plan.pdf (3 KB)") == "plan.pdf (3 KB)"
    assert mail.without_listed_attachments("Text.\n\nAttachments:\n\nplan.pdf (3 KB)") == "Text."
