"""The parts of a message: its attachments."""

from email.message import EmailMessage, Message

from . import tnef

# The limits of time, memory and text apply to a message with all its attachments.
MAX_ATTACHMENTS = 100
# Parts that nobody reads: signatures, and what a saved web page needs to be shown.
_IGNORED_TYPES = {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
_IGNORED_TYPES |= {"text/css", "text/javascript", "application/javascript", "application/x-javascript"}


def find_attachments(message: EmailMessage) -> list[EmailMessage]:
    """Return the parts of a message that are not its body. An attached message is one part, whatever it contains.

    What Outlook packed into one part is unpacked. Parts that nobody reads are left out.
    """
    body = message.get_body(preferencelist=("plain", "html"))
    attachments: list[EmailMessage] = []
    parts = [(message, False)]
    while parts:
        part, is_other_body = parts.pop(0)
        if part.get_content_maintype() == "multipart" and part.is_multipart():
            children = [child for child in part.iter_parts() if isinstance(child, EmailMessage)]
            is_alternative = part.get_content_subtype() == "alternative"
            if is_alternative:  # the body's text in several formats
                children = [child for child in children if child is body or not _is_text(child)]
            elif is_other_body and children and _is_text(children[0]):  # with what belongs to it: pictures, files
                del children[0]
            is_beside_body = is_alternative and body is not None
            parts = [
                (child, is_other_body or (is_beside_body and not any(inner is body for inner in child.walk())))
                for child in children
            ] + parts
        elif part is not body and part is not message:
            attachments.append(part)
    if sum(map(_is_calendar, attachments)) > 1:  # an invitation is often there twice: beside the body, and as a file
        attachments = [part for part in attachments if not _is_calendar(part) or part.get_filename()]
    return [inner for part in attachments for inner in _unpacked(part)]


def _is_text(part: EmailMessage) -> bool:
    """Return whether a part is a text that may be the body of a message: an invitation is none."""
    return part.get_content_maintype() == "text" and not _is_calendar(part)


def _is_calendar(part: EmailMessage) -> bool:
    return part.get_content_type() in ("text/calendar", "application/ics")


def _unpacked(part: EmailMessage) -> list[EmailMessage]:
    """Return the files of a part that Outlook packed, else the part itself; nothing for a part that nobody reads."""
    if part.get_content_type() in _IGNORED_TYPES:
        return []
    payload = None if part.is_multipart() else part.get_payload(decode=True)
    if isinstance(payload, bytes) and payload.startswith(tnef.MAGIC):
        return tnef.read_attachments(payload, limit=MAX_ATTACHMENTS)
    return [part]


def fields_of_report(part: EmailMessage) -> str:
    """Return the fields of a report on the delivery of a message, a paragraph for each recipient."""
    groups = part.get_payload()
    fields = [
        "\n".join(f"{name}: {' '.join(str(value).split())}" for name, value in group.raw_items())
        for group in (groups if isinstance(groups, list) else [])[:MAX_ATTACHMENTS]
        if isinstance(group, Message)
    ]
    return "\n\n".join(filter(None, fields))
