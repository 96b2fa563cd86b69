"""Counting as language models count."""

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import bpe_openai

# Characters: the encoding refuses a million.
_AT_ONCE = 500_000


def count_tokens(text: str) -> int:
    """OpenAI tokens (cl100k_base, the encoding of text-embedding-3); of a very long text a few more than it has."""
    parts = (text[start : start + _AT_ONCE] for start in range(0, len(text), _AT_ONCE))
    return sum(len(_encoding().encode_ordinary(part)) for part in parts)


@functools.cache
def _encoding() -> "bpe_openai.Encoding":
    import bpe_openai  # reads all its vocabularies, most of a second

    return bpe_openai.get_encoding("cl100k_base")
