"""A document's text for a prompt: the same to a reader, and nothing in it that a model takes for more than text.

For prompts alone: what is stored, searched, shown and quoted stays as the document has it.
"""

import re

_LESS, _MORE, _BAR = "[<＜‹〈﹤⟨]", "[>＞›〉﹥⟩]", "[|｜∣ǀ¦│]"
_OPEN, _CLOSE = r"[\[［【〔❲⟦〚]", r"[\]］】〕❳⟧〛]"
_LINE_ENDS = re.compile(r"\r\n?|[\v\f\x1c-\x1e\x85\u2028\u2029]")
# Tags and selectors that carry letters unseen, directions that are forced, controls. Joiners have a meaning between
# letters of some scripts, and none beside ASCII, where they split words that are looked for.
_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u061c\u115f\u1160\u180e\u200b\u202a-\u202e\u2060-\u206f\u3164\ufeff"
    "\ufff9-\ufffb\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?<=[\ufe00-\ufe0f])[\ufe00-\ufe0f]"
)
_JOINERS = re.compile(r"(?<=[\x00-\x7f])[\u200c-\u200f]+|(?<![\u200c-\u200f])[\u200c-\u200f]++(?=[\x00-\x7f])")
_ROLE = "system|user|assistant|human|developer|tool"
# What chat templates of the known models tell turns, roles and calls apart by.
_TOKENS = (
    re.compile(rf"{_LESS}\s?{_BAR}\s?([\w▁/.:+-]{{1,60}})\s?{_BAR}\s?{_MORE}"),
    re.compile(rf"{_LESS}{{2}}\s?(/?\s?SYS)\s?{_MORE}{{2}}", re.IGNORECASE),
    re.compile(
        rf"{_OPEN}\s?(/?\s?(?:INST|SYS|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_(?:CALLS|RESULTS|CONTENT)|{_ROLE}))\s?{_CLOSE}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"{_LESS}\s?(/?\s?(?:\w{{1,20}}:)?(?:s|bos|eos|pad|unk|(?:start|end)_of_turn|think|tools?|"
        rf"tool_(?:calls?|responses?|results?)|function_(?:calls?|results?)|invoke|instructions?|context|{_ROLE})"
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
# Pictures are fetched without being asked for: their addresses can carry away what stands beside them.
_PICTURES = re.compile(
    r"!\[(?P<alt>[^\[\]\n]{0,200})\](?:\([^()\n]{0,500}\)|\[[^\[\]\n]{0,100}\])|<img\b[^<>]{0,500}>", re.IGNORECASE
)
_CITATIONS = re.compile(rf"{_OPEN}\s?(\d{{1,4}}(?:\s?[,;–-]\s?\d{{1,4}}){{0,20}})\s?{_CLOSE}")
_CODE = re.compile(r"text/(x-(?!rst|tex)|javascript|css)|application/(json|xml|yaml|toml|x-ndjson)")


def sanitize(text: str, content_type: str = "") -> str:
    """Written differently or left out: control tokens, role names at the beginning of a line, characters that nobody
    sees; and, but in code, where they are an index, citations and pictures' addresses. Linear in the text's length."""
    text = _JOINERS.sub("", _UNSEEN.sub("", _LINE_ENDS.sub("\n", text)))
    for token in _TOKENS:
        text = token.sub(r"(\1)", text)
    text = _SPEAKERS.sub(r"\1(\2\3)\4", _HEADINGS.sub(r"\1\2", text))
    if _CODE.match(content_type):
        return text
    text = _PICTURES.sub(lambda found: f"(picture: {found['alt'] or 'unnamed'})", text)
    return _CITATIONS.sub(r"(\1)", text)
