"""Counts tokens as language models do."""

import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import bpe_openai

# The encoder refuses texts of a million characters.
_MAX_PART_CHARACTERS = 500_000
# Models that use o200k_base: gpt-4o and later, the o-series, gpt-oss; also with a gateway's prefix: openai/gpt-4o-mini.
_O200K_MODELS = re.compile(
    r"(?:[\w.-]+/)*(?:ft:)?(?:chatgpt-4o|gpt-4o|gpt-4\.|gpt-[5-9]|gpt-oss|o[1-9](?![^\W\d_]))", re.IGNORECASE
)


def count_tokens(text: str, model: str = "") -> int:
    """Count the tokens of a text. The count of a very long text is a few tokens too high.

    Args:
        text: Any text.
        model: A language model's name. Newer OpenAI models count in o200k_base; all others in cl100k_base, which is
            also what the limits of this product are given in.
    """
    encoding = _encoding("o200k_base" if _O200K_MODELS.match(model) else "cl100k_base")
    parts = (text[start : start + _MAX_PART_CHARACTERS] for start in range(0, len(text), _MAX_PART_CHARACTERS))
    return sum(len(encoding.encode_ordinary(part)) for part in parts)


@functools.cache
def _encoding(name: str) -> "bpe_openai.Encoding":
    import bpe_openai  # loads all vocabularies: almost a second

    return bpe_openai.get_encoding(name)
