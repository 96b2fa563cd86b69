"""Counts tokens as language models do."""

import re

# Models that use o200k_base: gpt-4o and later, the o-series, gpt-oss; with or without a prefix: openai/gpt-4o-mini.
_O200K_MODELS = re.compile(
    r"(?:[\w.-]+/)*(?:ft:)?(?:chatgpt-4o|gpt-4o|gpt-4\.|gpt-[5-9]|gpt-oss|o[1-9](?![^\W\d_]))", re.IGNORECASE
)


def count_tokens(text: str, model: str = "") -> int:
    """Count the tokens of a text.

    Args:
        text: Any text.
        model: A language model's name. Newer OpenAI models count in o200k_base; all others in cl100k_base, which is
            also what the limits of this product are given in.
    """
    import toktok  # loads a vocabulary on first use: a quarter of a second

    encoding = "o200k_base" if _O200K_MODELS.match(model) else "cl100k_base"
    # Lone surrogates cannot be encoded. `truncate` counts the whole text; `batch_count` starts threads, which takes
    # longer than counting.
    _, tokens = toktok.truncate(text.encode(errors="replace").decode(), 0, encoding)
    return int(tokens)
