"""Counting as language models count."""

import functools
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import bpe_openai

# Characters: the encoding refuses a million.
_AT_ONCE = 500_000
# gpt-4o and later, the o-series, gpt-oss; also behind a gateway's prefix: openai/gpt-4o-mini.
_NEWER = re.compile(
    r"(?:[\w.-]+/)*(?:ft:)?(?:chatgpt-4o|gpt-4o|gpt-4\.|gpt-[5-9]|gpt-oss|o[1-9](?![^\W\d_]))", re.IGNORECASE
)


def count_tokens(text: str, model: str = "") -> int:
    """The tokens of a text as this model counts; of a very long text a few more than it has.

    model: a language model's name. OpenAI's newer ones count in o200k_base; its others, and those whose vocabulary is
    not public or not here, in cl100k_base, which is what the embedding models and all limits of this product count in.
    """
    encoding = _encoding("o200k_base" if _NEWER.match(model) else "cl100k_base")
    parts = (text[start : start + _AT_ONCE] for start in range(0, len(text), _AT_ONCE))
    return sum(len(encoding.encode_ordinary(part)) for part in parts)


@functools.cache
def _encoding(name: str) -> "bpe_openai.Encoding":
    import bpe_openai  # reads all its vocabularies, most of a second

    return bpe_openai.get_encoding(name)
