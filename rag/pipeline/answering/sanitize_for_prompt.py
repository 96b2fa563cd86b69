"""Sanitizes a document's text for a prompt, against prompt injection.

A person reads the same text, but a language model finds no control tokens, role names or hidden characters in it. Only
prompts are sanitized: stored, searched, shown and quoted texts stay unchanged.
"""

import re

from rag.text.citation_markers import SQUARE_CLOSE, SQUARE_OPEN, neutralize_in_prompt

_LESS, _MORE, _BAR = "[<＜‹〈﹤⟨]", "[>＞›〉﹥⟩]", "[|｜∣ǀ¦│]"
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
# Invisible characters: tag characters and variation selectors that can encode text, direction overrides, controls.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u202a-\u202e\u2060-\u206f\u3164\ufeff"
    "\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]"
)
# Joiners are needed between letters of some scripts. Next to ASCII they only hide words from pattern matching.
_JOINERS = re.compile(r"(?<=[\x00-\x7f])[\u200c-\u200f]+|(?<![\u200c-\u200f])[\u200c-\u200f]++(?=[\x00-\x7f])")
# Every character that one of the three patterns above can match: most texts have none.
_REWRITTEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u1160\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    "\ufeff\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
# What a control token, a picture or a citation begins with.
_BRACKETS = frozenset(_LESS + SQUARE_OPEN)
_ROLE = "system|user|assistant|human|developer|tool"
# Control tokens by which chat templates separate messages, roles and tool calls.
_CONTROL_TOKENS = (
    re.compile(rf"{_LESS}\s?{_BAR}\s?([\w▁/.:+-]{{1,60}})\s?{_BAR}\s?{_MORE}"),
    re.compile(rf"{_LESS}{{2}}\s?(/?\s?SYS)\s?{_MORE}{{2}}", re.IGNORECASE),
    re.compile(
        rf"{SQUARE_OPEN}\s?(/?\s?(?:INST|SYS|SYSTEM_PROMPT|MODEL_SETTINGS|THINK|gMASK|AVAILABLE_TOOLS|"
        rf"TOOL_(?:CALLS|RESULTS|CONTENT)|{_ROLE}))"
        rf"\s?{SQUARE_CLOSE}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_LESS}\s?(/?\s?(?:\w{{1,20}}:)?(?:s|bos|eos|pad|unk|sop|eop|extra_id_\d{{1,2}}|"
        rf"(?:start|end)_of_turn|think|tools?|tool_(?:calls?|responses?|results?)|function_(?:calls?|results?)|invoke|instructions?|context|{_ROLE})"
        r"(?:\s[^<>＜＞\n]{0,200})?)"
        rf"\s?{_MORE}",
        re.IGNORECASE,
    ),
)
_HEADINGS = re.compile(
    rf"^([ \t>]*+)#{{1,6}}[ \t]*+((?:{_ROLE}|instructions?|response|input|output)(?:[ \t](?:prompt|message))?"
    r"[ \t]?:?[ \t]*)$",
    re.IGNORECASE | re.MULTILINE,
)
_SPEAKERS = re.compile(
    rf"^([ \t>*_-]*+)({_ROLE})([ \t](?:prompt|message))?([*_]{{0,3}}[ \t]?[:：])", re.IGNORECASE | re.MULTILINE
)
# Clients load images automatically, so that their URLs can leak the text next to them.
_IMAGES = re.compile(
    r"!\[(?P<alt>[^\[\]\n]{0,200})\](?:\([^()\n]{0,500}\)|\[[^\[\]\n]{0,100}\])|<img\b[^<>]{0,500}>", re.IGNORECASE
)
_CODE = re.compile(r"text/(x-(?!rst|tex)|javascript|css)|application/(json|xml|yaml|toml|x-ndjson)")


def sanitize(text: str, content_type: str = "") -> str:
    """Remove or rewrite the parts of a text that a language model may take for more than text. Runs in linear time.

    These are control tokens, role names at the start of a line and invisible characters; except in code also citations
    and the URLs of images.

    Args:
        text: A document's text.
        content_type: The document's MIME type. In code, `[1]` is an index and stays.
    """
    text = remove_structure(text)
    if _CODE.match(content_type) or _BRACKETS.isdisjoint(text):
        return text
    text = _IMAGES.sub(lambda match: f"(picture: {match['alt'] or 'unnamed'})", text)
    return neutralize_in_prompt(text)


def remove_structure(text: str) -> str:
    """Rewrite what a chat template or a reader of dialogues may take for the structure of a prompt. In linear time.

    These are control tokens, role names at the start of a line and invisible characters. Earlier answers, which quote
    documents, keep the rest.
    """
    characters = set(text)
    if _REWRITTEN.search("".join(characters)):
        text = _JOINERS.sub("", _INVISIBLE.sub("", _LINE_ENDS.sub("\n", text)))
    # Without the characters that they begin with or contain, the other patterns match nothing.
    if not characters.isdisjoint(_BRACKETS):
        for token in _CONTROL_TOKENS:
            text = token.sub(r"(\1)", text)
    if "#" in characters:
        text = _HEADINGS.sub(r"\1\2", text)
    if not characters.isdisjoint(":："):
        text = _SPEAKERS.sub(r"\1(\2\3)\4", text)
    return text
