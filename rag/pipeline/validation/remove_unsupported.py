"""Removes what nothing supports from the end of a language model's answer.

Sentences with citations that do not support them were removed before, by `rag.pipeline.answering.verify_citations`.
"""

import re
from collections.abc import Sequence

from rag.text import citation_markers
from rag.types import CheckedSentence

_WORD = re.compile(r"[^\W_]")


def remove_unsupported_end(text: str, sentences: Sequence[CheckedSentence]) -> tuple[str, tuple[str, ...]]:
    """Remove the last sentences of an answer as far as nothing supports them and they have no verified citation.

    A sentence in the middle stays, because a later one may refer to it.

    Args:
        text: The answer, of whose citations only the verified ones are left.
        sentences: The sentences of the answer, in order, checked against the passages.

    Returns:
        The rest of the answer, and the removed sentences in order.
    """
    removed: list[str] = []
    for sentence in reversed(sentences):
        is_last = not _WORD.search(text[sentence.end :])
        if sentence.is_supported or not is_last or any(citation_markers.find_markers(text[sentence.start :])):
            break
        text = text[: sentence.start].rstrip()
        removed.append(sentence.text)
    return text, tuple(reversed(removed))
