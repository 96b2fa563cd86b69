"""E-mails with their attachments, messages of Outlook, and mailboxes."""

from email.message import EmailMessage

from tests.parsing import files
from tests.parsing.conftest import Read, error_message


def message(subject: str, text: str) -> EmailMessage:
    built = EmailMessage()
    built["From"], built["Subject"] = "ada@example.com", subject
    built.set_content(text)
    return built


def test_attachments_are_read_under_their_names(read: Read) -> None:
    mail = message("Plans", "See below.")
    mail.add_attachment("Grüße", subtype="plain", charset="iso-8859-1", filename="hello.txt")
    mail.add_attachment(b"Name,Town\nAda,Lynn\n", maintype="text", subtype="csv", filename="people.csv")
    mail.add_attachment(
        files.docx(files.paragraph("Hive", heading=True)),
        maintype="application",
        subtype="octet-stream",
        filename="a.docx",
    )
    mail.add_attachment(b"\x89PNG\r\n\x1a\n" + b"\0" * 50, maintype="image", subtype="png", filename="a.png")
    parsed = read(mail.as_bytes(), "a.eml")
    assert "Attachments: hello.txt, people.csv, a.docx, a.png" in parsed.text
    assert "# hello.txt\n\nGrüße" in parsed.text
    assert "# people.csv\n\nName: Ada | Town: Lynn" in parsed.text
    assert [(heading.level, heading.title) for heading in parsed.headings][-2:] == [(1, "a.docx"), (2, "Hive")]


def test_attached_messages_are_read_up_to_a_depth(read: Read) -> None:
    mail = message("Level 9", "Text 9.")
    for level in range(8, -1, -1):
        outer = message(f"Level {level}", f"Text {level}.")
        outer.add_attachment(mail)
        mail = outer
    parsed = read(mail.as_bytes(), "a.eml")
    assert parsed.title == "Level 0"
    assert "Text 0." in parsed.text
    assert "# Level 1" in parsed.text
    assert "Text 3." in parsed.text
    assert "Text 8." not in parsed.text


def test_a_damaged_attachment_leaves_the_message_readable(read: Read) -> None:
    mail = message("Plans", "See below.")
    broken = files.docx(files.paragraph("Hive"))[:300]
    mail.add_attachment(broken, maintype="application", subtype="octet-stream", filename="a.docx")
    mail.add_attachment(
        files.packed({"word/document.xml": b"\0" * 50_000_000}),
        maintype="application",
        subtype="zip",
        filename="b.docx",
    )
    assert "See below." in read(mail.as_bytes(), "a.eml").text


def test_the_other_alternative_of_a_text_is_not_repeated(read: Read) -> None:
    assert "No." not in read(files.eml(text="Yes.", html="<p>No.</p>", attachment="a.pdf"), "a.eml").text


def test_messages_in_utf_16_are_read(read: Read) -> None:
    text = "From: ada@example.com\nSubject: Plans\nDate: today\n\nGrüße.\n"
    assert read(text.encode("utf-16"), "a.eml").title == "Plans"


def test_outlook_messages_are_read_as_attachments(read: Read) -> None:
    mail = message("Plans", "See below.")
    outlook = files.msg("Bridges", "The bridge holds.", "ada@example.com")
    mail.add_attachment(outlook, maintype="application", subtype="vnd.ms-outlook", filename="old.msg")
    parsed = read(mail.as_bytes(), "a.eml")
    assert parsed.text.endswith("The bridge holds.")
    assert "# old.msg" in parsed.text


def test_headers_of_any_length_are_read(read: Read) -> None:
    """The start of them: parsing half a megabyte of addresses completely would exceed the time limit."""
    addresses = ", ".join(f'"Person {number}" <person{number}@home.example>' for number in range(12_000))
    text = read(f"From: a@x.example\nTo: {addresses}\nSubject: Long\n\nThe body.".encode(), "a.eml").text
    assert "person100@home.example" in text
    assert text.endswith("The body.")


def test_parts_within_parts_are_read_up_to_a_depth(read: Read) -> None:
    """Each line is compared with the boundaries of all parts that it is in: 260 KB in 900 parts took 18 seconds."""

    def nested(depth: int) -> bytes:
        starts = [f"Content-Type: multipart/mixed; boundary=b{level}\n\n--b{level}\n" for level in range(depth)]
        ends = [f"--b{level}--\n" for level in reversed(range(depth))]
        head = "From: ada@example.com\nSubject: Plans\n"
        return "".join([head, *starts, "Content-Type: text/plain\n\nThe body.\n", *ends]).encode()

    assert "The body." in read(nested(50), "a.eml").text
    assert "more than 100 parts" in error_message(read, nested(900), "a.eml")


def test_mail_has_header_fields_and_its_plain_text(read: Read) -> None:
    parsed = read(files.eml(text="The bridge\nholds.", html="<p>No.</p>", attachment="plan.pdf"), "a.eml")
    assert parsed.title == "Über die Brücke"
    assert parsed.text.startswith(
        "Subject: Über die Brücke\nFrom: Ada Example <ada@example.com>\nTo: ben@example.com\n"
    )
    assert "Cc: cleo@example.com\nDate: " in parsed.text
    assert parsed.text.endswith("\n\nThe bridge\nholds.\n\nAttachments: plan.pdf")


def test_html_mail_has_headings(read: Read) -> None:
    parsed = read(files.eml(html="<h1>News</h1><p>The bridge <b>holds</b>.</p>"), "a.eml")
    (heading,) = parsed.headings
    assert parsed.text[heading.start :] == "# News\n\nThe bridge holds."


def test_outlook_messages_are_read(read: Read) -> None:
    parsed = read(files.msg("Bridges", "The bridge holds.", "ada@example.com"), "a.msg")
    assert parsed.title == "Bridges"
    assert "ada@example.com" in parsed.text
    assert parsed.text.endswith("The bridge holds.")


def test_attachments_of_outlook_messages_are_read(read: Read) -> None:
    inner = files.msg_message("Level 1", "The inner text.", "ben@example.com", [files.msg_file("deep.txt", b"Deep.")])
    hive = files.docx(files.paragraph("Hive", heading=True))
    picture = b"\x89PNG\r\n\x1a\n" + b"\0" * 50
    attachments = [
        files.msg_file("grüße.txt", "Grüße".encode("iso-8859-1"), mime_type="text/plain"),
        files.msg_file("people.csv", b"Name,Town\nAda,Lynn\n", mime_type="not a type"),
        files.msg_file("a.docx", hive),
        files.msg_file("logo.png", picture, mime_type="image/png", hidden=True),
        inner,
    ]
    parsed = read(files.msg("Bridges", "The bridge holds.", "ada@example.com", attachments), "a.msg")
    assert parsed.title == "Bridges"
    assert "The bridge holds.\n\nAttachments: grüße.txt, people.csv, a.docx, logo.png" in parsed.text
    assert "# grüße.txt\n\nGrüße" in parsed.text
    assert "# people.csv\n\nName: Ada | Town: Lynn" in parsed.text
    assert "# Level 1\n\nSubject: Level 1\nFrom: ben@example.com\nDate: Fri, 15 Mar 2024 14:30:00 +0000" in parsed.text
    assert "The inner text." in parsed.text
    assert parsed.text.endswith("# deep.txt\n\nDeep.")
    titles = [(heading.level, heading.title) for heading in parsed.headings]
    assert titles == [(1, "grüße.txt"), (1, "people.csv"), (1, "a.docx"), (2, "Hive"), (1, "Level 1"), (2, "deep.txt")]


def test_outlook_messages_within_each_other_are_read_up_to_a_depth(read: Read) -> None:
    attachment = files.msg_message("Level 9", "Text 9.", "ada@example.com")
    for level in range(8, 0, -1):
        attachment = files.msg_message(f"Level {level}", f"Text {level}.", "ada@example.com", [attachment])
    parsed = read(files.msg("Level 0", "Text 0.", "ada@example.com", [attachment]), "a.msg")
    assert "Text 0." in parsed.text
    assert "Text 3." in parsed.text
    assert "Text 8." not in parsed.text


def test_an_outlook_message_has_the_attachments_that_an_e_mail_has(read: Read) -> None:
    attachments = [files.msg_file(f"{number}.txt", f"Text {number}.".encode()) for number in range(103)]
    parsed = read(files.msg("Many", "The body.", "ada@example.com", attachments), "a.msg")
    assert "Text 99." in parsed.text
    assert "Text 100." not in parsed.text
    assert "102.txt" in parsed.text


def test_damaged_attachments_leave_an_outlook_message_readable(read: Read) -> None:
    broken = files.msg_file("a.docx", files.docx(files.paragraph("Hive"))[:300])
    message = files.msg("Plans", "See below.", "ada@example.com", [broken, files.msg_file("b.txt", b"Below.")])
    parsed = read(message, "a.msg")
    assert "See below." in parsed.text
    assert parsed.text.endswith("Below.")
    assert (
        "See below."
        in read(message.replace("__attach".encode("utf-16-le"), "__attic_".encode("utf-16-le")), "a.msg").text
    )


def test_a_mailbox_has_a_heading_for_each_message(read: Read) -> None:
    start = b"From ada@example.com Wed Mar 15 14:30:00 2024\n"
    parsed = read(start + files.eml(text="One.\n>From here.") + b"\n\n" + start + files.eml(text="Two."), "a.mbox")
    assert [heading.title for heading in parsed.headings] == ["Über die Brücke"] * 2
    assert "One.\nFrom here." in parsed.text
    assert parsed.text.endswith("Two.")


_HEADER = "From: ada@example.com\nSubject: Ferry\nMIME-Version: 1.0\n"


def test_the_lines_of_a_flowed_text_are_joined(read: Read) -> None:
    text = "The barge left \nat noon.\n\n> Did it \n> leave?\n From here it is stuffed.\n-- \nAda\n"
    mail = f'{_HEADER}Content-Type: text/plain; format="flowed"\n\n{text}'
    expected = "The barge left at noon.\n\n> Did it leave?\nFrom here it is stuffed.\n-- \nAda"
    assert read(mail.encode(), "a.eml").text.endswith(f"\n\n{expected}")


def test_spaces_at_the_ends_of_flowed_lines_may_be_no_part_of_the_text(read: Read) -> None:
    mail = f"{_HEADER}Content-Type: text/plain; charset=utf-8; format=flowed; delsp=yes\n\n船は正午に \n出ます。\n"
    assert read(mail.encode(), "a.eml").text.endswith("\n\n船は正午に出ます。")


def test_a_message_that_apple_mail_stored_is_read(read: Read) -> None:
    mail = f"{_HEADER}\nThe ferry leaves at noon.\n"
    parsed = read(f"{len(mail)}     \n{mail}<?xml version='1.0'?><plist>8590195713</plist>".encode(), "a.emlx")
    assert parsed.title == "Ferry"
    assert parsed.text.endswith("\n\nThe ferry leaves at noon.")


def test_an_invitation_beside_the_text_is_read_once_and_the_other_form_of_the_text_is_not(read: Read) -> None:
    calendar = "BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:Repair of the mill\nEND:VEVENT\nEND:VCALENDAR\n"
    mail = message("Mill", "It stops in June.")
    mail.add_alternative("<p>It stops in June, too.</p>", subtype="html")
    parts = mail.get_payload()
    assert isinstance(parts, list)
    assert isinstance(parts[1], EmailMessage)
    parts[1].add_related(b"# Prices\n", maintype="text", subtype="markdown", filename="prices.md")
    mail.add_alternative(calendar, subtype="calendar")
    mail.add_attachment(calendar.encode(), maintype="application", subtype="ics", filename="invite.ics")
    text = read(mail.as_bytes(), "a.eml").text
    assert text.count("Repair of the mill") == 1
    assert "too." not in text
    assert "# prices.md" in text
