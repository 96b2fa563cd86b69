"""Records which texts are normalised (Unicode): the time grows with the square of their length."""

import unicodedata
from typing import Any

import pytest


def record_normalized_lengths(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list to which the length of each text is added that is normalised from now on, at first 0."""
    normalize, lengths = unicodedata.normalize, [0]

    def record(form: Any, text: str) -> str:
        lengths.append(len(text))
        return normalize(form, text)

    monkeypatch.setattr(unicodedata, "normalize", record)
    return lengths
