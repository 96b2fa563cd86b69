"""Texts of e-mails whose lines may be joined again (format=flowed, RFC 3676)."""


def join_flowed(text: str, *, deletes_spaces: bool) -> str:
    """Return the text with the lines of each paragraph joined.

    A line that ends with a space continues on the next one, if that is quoted as often. A space before a line protects
    what would be a quotation or the beginning of a message.

    Args:
        text: The text, with line feeds as line ends.
        deletes_spaces: Whether the space at the end of a line is no part of the text (DelSp), as in Chinese.
    """
    paragraphs: list[list[str]] = []
    continues, depth = False, 0
    for line in text.split("\n"):
        unquoted = line.lstrip(">")
        quotes = len(line) - len(unquoted)
        words = unquoted.removeprefix(" ")
        is_signature = words == "-- "
        if continues and quotes == depth and not is_signature:
            paragraphs[-1].append(words)
        else:
            paragraphs.append([">" * quotes + " " if quotes else "", words])
        continues, depth = words.endswith(" ") and bool(words.strip()) and not is_signature, quotes
        if continues and deletes_spaces:
            paragraphs[-1][-1] = words[:-1]
    return "\n".join("".join(parts) for parts in paragraphs)
