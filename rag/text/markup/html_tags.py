"""HTML tags that texts in Markdown contain, and tags of site generators: which characters of them people read."""

import html
import re

_NAMES = (
    "a|abbr|article|aside|b|blockquote|br|center|code|dd|details|div|dl|dt|em|figcaption|figure|font|h[1-6]|hr|i|img|kbd"
    "|li|mark|ol|p|picture|pre|section|small|source|span|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|u|ul|video"
)
# Shortcodes of Hugo, such as {{< hint >}} and {{% note %}}, and tags of Jekyll's Liquid, such as {% include a.md %}.
_TEMPLATE_TAG = r"\{\{<[^{}]{0,500}>\}\}|\{?\{%[^{}]{0,500}%\}\}?"
# The attributes of what they follow in kramdown, `{: .note }`, and in MkDocs: `[Try it](try.md){ .button }`.
_ATTRIBUTES = r"(?:\{:|(?<=[)\]*_])\{)[ \t]*(?:[#.]\w|[\w-]{1,40}=|toc\b)[^{}\n]{0,200}\}"
_TAG = re.compile(
    rf"</?(?:{_NAMES})(?:\s[^<>]{{0,500}})?/?>|<!--.{{0,2000}}?-->|{_TEMPLATE_TAG}|{_ATTRIBUTES}",
    re.IGNORECASE | re.DOTALL,
)
_BEGINNINGS = ("<", "{{<", "{%", "{{%", "{:")
# At the end of a heading also in Pandoc: "Title {#anchor .class}".
_HEADING_ATTRIBUTES = re.compile(r"(?<!\\)\{:?[ \t]*[#.][^{}\n]{0,200}\}[ \t]*$")
# A tag that shows a name, such as `{% channel "help" %}`. Others name files, or what they show is not known.
_NAMING_TAG = re.compile(
    r"\{%-?\s*(?!include|import|extends|render|layout|block|image|img|figure|asset|highlight|link|url)\w+\s+"
    r"\"(?P<name>\w[\w -]{0,80})\"\s*-?%\}"
)
_CODE_TAG = re.compile(r"</?code>", re.IGNORECASE)
# What is written as code shows tags as text.
_INLINE_CODE = re.compile(r"(`[^`\n]+`)")
# The mark of a link to the heading itself.
_PERMALINK = re.compile(r"<a\s[^<>]{0,500}>\s*[¶#§]?\s*</a>", re.IGNORECASE)
# A component of MDX alone on its line, such as `<TabItem value="linux">`, is a tag. Elsewhere `<Name>` may be a name.
_COMPONENT = r"</?(?-i:[A-Z])\w{0,40}(?:\s[^<>]{0,500})?/?>"
_ONLY_TAGS = re.compile(rf"(?:\s*(?:{_TAG.pattern}|{_COMPONENT}))+\s*", re.IGNORECASE | re.DOTALL)
_PREFORMATTED = re.compile(r"<pre\b[^<>]{0,500}>", re.IGNORECASE)
# A character by its name or number, as in "Settings &gt; Account", or two around a word, as in "List&lt;String&gt;".
_ENTITY = re.compile(r"&lt;[^\s&]{1,100}&gt;|&(?:[a-zA-Z]{2,8}|#\d{2,5}|#x[0-9a-fA-F]{1,5});")
# The title of what is folded away is a heading, too. More tags may be around it on its line.
_HEADING = re.compile(
    r"<h([1-6])\b[^<>]{0,500}>.+</h\1>|(?:<details\b[^<>]{0,500}>)?\s*<summary\b[^<>]{0,500}>.+</summary>",
    re.IGNORECASE,
)


def is_html_heading(line: str) -> bool:
    """Return whether a line is a heading in HTML: `<h2 id="a">Title</h2>` or `<summary>Title</summary>`."""
    return line[:2].lower() in ("<h", "<s", "<d") and bool(_HEADING.fullmatch(line))


def is_only_tags(line: str) -> bool:
    """Return whether a line has nothing but tags."""
    return line.startswith(_BEGINNINGS) and bool(_ONLY_TAGS.fullmatch(line))


def begins_code(line: str) -> bool:
    """Return whether a line begins a block of preformatted text: `<pre><code>`."""
    return bool(_PREFORMATTED.match(line))


def ends_code(line: str) -> bool:
    """Return whether a line ends a block of preformatted text."""
    return "</pre>" in line.lower()


def code_of(text: str) -> str:
    """Return a block of code without the tags around it, if it is preformatted text in HTML.

    One that would then contain the mark of a code block stays as it is: the mark would end the block that shows it.
    """
    code = html.unescape(_TAG.sub("", text)).strip("\n") if begins_code(text) else text
    return text if "```" in code else code


def remove_tags(text: str) -> str:
    """Return the text without tags and with characters instead of entities. Inline code stays as it is."""
    if not any(mark in text for mark in ("<", "{", "&")):
        return text
    parts = _INLINE_CODE.split(text)
    parts[::2] = [_unescape(_TAG.sub(_shown, _CODE_TAG.sub("`", _PERMALINK.sub("", part)))) for part in parts[::2]]
    return "".join(parts).strip()


def remove_heading_attributes(title: str) -> str:
    """Return a heading without the attributes at its end, which nobody reads: `Title {#anchor}`."""
    return _HEADING_ATTRIBUTES.sub("", title)


def _shown(tag: re.Match[str]) -> str:
    naming = _NAMING_TAG.fullmatch(tag[0])
    return naming["name"] if naming else ""


def _unescape(text: str) -> str:
    """Return the text with characters instead of entities. `<` stays an entity, as it could begin a tag."""
    return _ENTITY.sub(_character, text)


def _character(entity: re.Match[str]) -> str:
    text = html.unescape(entity[0])  # empty for most controls, such as &#27;
    if text.startswith("<"):
        return entity[0]
    return " " if text.isspace() else text  # a line end would begin a line of its own


def visible_span(text: str) -> tuple[int, int]:
    """Return start and end of the first characters that are read, up to the next tag."""
    if not text.startswith(_BEGINNINGS):
        return 0, len(text)
    start = 0
    while match := _TAG.match(text, start):
        start = match.end()
    following = _TAG.search(text, start)
    return start, following.start() if following else len(text)
