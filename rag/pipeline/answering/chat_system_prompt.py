"""The system prompt of a chat: passages in the exact format of the v3 contract (2.3), then the client's own prompt."""

import re
from collections.abc import Sequence

from rag.pipeline.untrusted_notice import untrusted_notice
from rag.text.citation_markers import neutralize_at_line_starts
from rag.types import Passage

from .sanitize_for_prompt import sanitize

# A message of its own after the system prompt, so that the prompt has exactly the words of the contract, and the model
# reads the notice after everything that the passages say.
NOTICE = untrusted_notice("The texts of the retrieved context")
_BEGIN = "=== Retrieved Context ==="
_END = "=== End Context ==="
# Full-width equals signs and zero-width characters look the same to a reader. Possessive and anchored at the start of a
# run, so that matching takes linear time.
_SIGN = r"[=＝﹦\u200b-\u200f\u2060\ufeff]"
_LOOK_ALIKE = re.compile(rf"(?<!{_SIGN}){_SIGN}{{2,}}+(?=\s*+(?:retrieved|end)\s++context)", re.IGNORECASE)


def build_system_prompt(system: str, passages: Sequence[Passage]) -> str:
    """Put the passages above the system prompt.

    Args:
        system: The client's system prompt.
        passages: The passages, best first. If there are none, the system prompt is returned unchanged.
    """
    if not passages:
        return system
    sources = "\n\n".join(f"[Source: {_safe_title(passage)}]\n{_safe_text(passage)}" for passage in passages)
    return "\n\n".join(filter(None, (f"{_BEGIN}\n{sources}\n{_END}", system.rstrip())))


def _safe_title(passage: Passage) -> str:
    return _without_delimiters(sanitize(" ".join(passage.title.split())).replace("]", ")"))


def _safe_text(passage: Passage) -> str:
    return _without_delimiters(neutralize_at_line_starts(sanitize(passage.text, passage.content_type)))


def _without_delimiters(text: str) -> str:
    """Replace delimiters in a text, so that a document can neither end the block nor start another one."""
    return _LOOK_ALIKE.sub("=", text)
