"""Counting as language models count."""

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import bpe_openai


def count_tokens(text: str) -> int:
    """OpenAI tokens (cl100k_base, the encoding of text-embedding-3)."""
    return len(_encoding().encode(text, disallowed_special=())) if text else 0


@functools.cache
def _encoding() -> "bpe_openai.Encoding":
    import bpe_openai  # reads all its vocabularies, most of a second

    return bpe_openai.get_encoding("cl100k_base")
