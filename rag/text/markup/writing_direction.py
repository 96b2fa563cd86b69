"""Controls of the direction of writing (Unicode Standard Annex 9), which would also reorder the text that follows."""

import re

_CONTROLS = re.compile("[\u202a-\u202e\u2066-\u2069]")
_END_OF_EMBEDDING, _END_OF_ISOLATE = "\u202c", "\u2069"


def end_directions(text: str) -> str:
    """Return the text with the ends of those that it leaves open, embeddings, overrides and isolates."""
    missing: list[str] = []
    for control in _CONTROLS.findall(text):
        if control not in (_END_OF_EMBEDDING, _END_OF_ISOLATE):
            missing.append(_END_OF_ISOLATE if control >= "\u2066" else _END_OF_EMBEDDING)
        elif missing[-1:] == [control]:
            missing.pop()
    return text + "".join(reversed(missing))
